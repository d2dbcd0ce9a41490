// SPDX-License-Identifier: Apache-2.0
// A watch in protobuf: frames, each of a length in four bytes, big endian, and a WatchEvent.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "control/kube/codec/answer_reader.h"
#include "control/kube/codec/answer_reader_held.h"

namespace weft::kube {

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
