// SPDX-License-Identifier: Apache-2.0
// Answers in protobuf.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "control/kube/codec/answer_reader.h"
#include "control/kube/codec/answer_reader_held.h"

namespace weft::kube {

// The magic prefix, and one runtime.Unknown whose `raw` is a NodeList, which may have hundreds of
// megabytes. Its fields are parsed as they arrive; only single fields are held.
class ProtobufListReader : public AnswerReader {
 public:
  ProtobufListReader(NodeReader nodes, AnswerListener& listener)
      : AnswerReader(std::move(nodes), listener) {}

  absl::Status Read(std::string_view bytes) override;
  absl::Status Finish() override;

 private:
  enum class Step : std::uint8_t { kMark, kKey, kNumber, kLength, kSkip, kField };

  // Each consumes at least one byte from the front of `bytes`.
  absl::Status TakeMark(std::string_view& bytes);
  absl::Status TakeVarintByte(std::string_view& bytes);
  absl::Status TakeSkipped(std::string_view& bytes);
  absl::Status TakeField(std::string_view& bytes);

  absl::Status OnKey(std::uint64_t key);
  absl::Status OnLength(std::uint64_t length);
  absl::Status Skip(std::uint64_t length);
  absl::Status OnField(std::string_view bytes);
  absl::Status EndField();

  bool in_list() const { return list_end_.has_value() && !ended_; }
  // Whether a field of this length would exceed the list that contains it.
  bool TooLong(std::uint64_t length) const { return in_list() && length > *list_end_ - at_; }

  HeldBytes held_;
  Step step_ = Step::kMark;
  std::uint64_t at_ = 0;  // bytes consumed so far
  std::uint64_t varint_ = 0;
  int varint_shift_ = 0;                   // zero: none has begun
  std::uint64_t field_at_ = 0;             // where the field's key began
  std::uint64_t field_ = 0;                // its number
  std::uint64_t left_ = 0;                 // in kSkip: of it; in kField: all of it
  std::optional<std::uint64_t> list_end_;  // once the NodeList has begun
  bool ended_ = false;                     // the list's end was reported
  std::string resource_version_;
  std::string continue_token_;
};

// Frames, each of a length in four bytes, big endian, and a WatchEvent.
class ProtobufWatchReader : public AnswerReader {
 public:
  ProtobufWatchReader(NodeReader nodes, AnswerListener& listener)
      : AnswerReader(std::move(nodes), listener) {}

  absl::Status Read(std::string_view bytes) override;
  absl::Status Finish() override;

 private:
  static constexpr std::size_t kLengthSize = 4;

  absl::Status ReadEvent(std::string_view bytes);

  HeldBytes held_;                   // of the length, then of the frame
  std::optional<std::size_t> size_;  // of the frame, once its length is known
  std::uint64_t frame_at_ = 0;       // byte of the answer at which the frame begins
};

}  // namespace weft::kube
