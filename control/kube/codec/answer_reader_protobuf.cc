// SPDX-License-Identifier: Apache-2.0
// Answers in protobuf.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/kube/codec/answer_reader.h"
#include "control/kube/codec/answer_reader_held.h"
#include "control/kube/codec/api_status_codec.h"
#include "control/kube/codec/node_codec_protobuf.h"
#include "vxlan/bytes.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

// Longer than any answer; the sum of two does not overflow.
constexpr std::uint64_t kNoAnswerIsSoLong = std::uint64_t{1} << 62;

// Fields that are read.
constexpr std::uint64_t kTypeMeta = 1, kRaw = 2, kContentEncoding = 3;  // runtime.Unknown
constexpr std::uint64_t kListMeta = 1, kItems = 2;                      // NodeList

// The magic prefix, and one runtime.Unknown whose `raw` is a NodeList, which may have hundreds of
// megabytes. Its fields are parsed as they arrive; only single fields are held.
class ProtobufListReader final : public AnswerReader {
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
class ProtobufWatchReader final : public AnswerReader {
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

absl::Status ProtobufListReader::Read(std::string_view bytes) {
  absl::Status status;
  while (!bytes.empty() && status.ok()) {
    switch (step_) {
      case Step::kMark:
        status = TakeMark(bytes);
        break;
      case Step::kKey:
      case Step::kNumber:
      case Step::kLength:
        status = TakeVarintByte(bytes);
        break;
      case Step::kSkip:
        status = TakeSkipped(bytes);
        break;
      case Step::kField:
        status = TakeField(bytes);
        break;
    }
  }
  return status;
}

absl::Status ProtobufListReader::Finish() {
  if (ended_ && step_ == Step::kKey && varint_shift_ == 0) return absl::OkStatus();
  return BrokenAt(at_ + held_.size(), "it ends before the list does");
}

absl::Status ProtobufListReader::TakeMark(std::string_view& bytes) {
  if (bytes.front() != kProtobufMagic[at_])
    return BrokenAt(at_, "it does not begin with the mark of Kubernetes' protobuf");
  bytes.remove_prefix(1);
  if (++at_ == kProtobufMagic.size()) step_ = Step::kKey;
  return absl::OkStatus();
}

absl::Status ProtobufListReader::TakeVarintByte(std::string_view& bytes) {
  if (in_list() && at_ == *list_end_) return BrokenAt(at_, "the list ends within a field");
  if (step_ == Step::kKey && varint_shift_ == 0) field_at_ = at_;
  const auto byte = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  ++at_;
  if (varint_shift_ == 63 && byte > 1) return BrokenAt(at_ - 1, "a number of more than 64 bits");
  varint_ |= std::uint64_t{byte & 0x7fU} << varint_shift_;
  varint_shift_ += 7;
  if ((byte & 0x80) != 0) return absl::OkStatus();

  const std::uint64_t value = varint_;
  varint_ = 0;
  varint_shift_ = 0;
  if (step_ == Step::kKey) return OnKey(value);
  if (step_ == Step::kLength) return OnLength(value);
  return EndField();
}

absl::Status ProtobufListReader::OnKey(std::uint64_t key) {
  field_ = key >> 3;
  switch (key & 7) {
    case 0:
      step_ = Step::kNumber;
      return absl::OkStatus();
    case 1:
      return Skip(8);
    case 2:
      step_ = Step::kLength;
      return absl::OkStatus();
    case 5:
      return Skip(4);
    default:
      return BrokenAt(field_at_, absl::StrCat("field ", field_, " has the wire type ", key & 7));
  }
}

absl::Status ProtobufListReader::OnLength(std::uint64_t length) {
  if (length > kNoAnswerIsSoLong || TooLong(length)) {
    return BrokenAt(field_at_, absl::StrCat("field ", field_, " of ", length,
                                            " bytes is longer than the message that contains it"));
  }
  if (!in_list() && field_ == kRaw) {
    if (ended_) return BrokenAt(field_at_, "a second list");
    list_end_ = at_ + length;
    return EndField();
  }
  const bool desired = in_list() ? field_ == kListMeta || field_ == kItems
                                 : field_ == kTypeMeta || field_ == kContentEncoding;
  if (!desired) return Skip(length);
  if (length > kMaxObject) {
    return BrokenAt(field_at_,
                    absl::StrCat("an object of ", length, " bytes, more than ", kMaxObject));
  }
  left_ = length;
  step_ = Step::kField;
  std::string_view none;
  return TakeField(none);
}

absl::Status ProtobufListReader::Skip(std::uint64_t length) {
  if (TooLong(length)) return BrokenAt(field_at_, "the list ends within a field");
  left_ = length;
  step_ = Step::kSkip;
  return length == 0 ? EndField() : absl::OkStatus();
}

absl::Status ProtobufListReader::TakeSkipped(std::string_view& bytes) {
  const std::size_t skipped = std::min<std::uint64_t>(left_, bytes.size());
  bytes.remove_prefix(skipped);
  at_ += skipped;
  left_ -= skipped;
  return left_ == 0 ? EndField() : absl::OkStatus();
}

absl::Status ProtobufListReader::TakeField(std::string_view& bytes) {
  const auto field = held_.Take(bytes, left_);
  if (!field) return absl::OkStatus();
  if (const auto status = OnField(*field); !status.ok())
    return BrokenAt(field_at_, status.message());
  held_.Clear();
  at_ += left_;
  return EndField();
}

absl::Status ProtobufListReader::OnField(std::string_view bytes) {
  if (in_list()) {
    if (field_ == kItems) {
      const auto status = DecodeProtobufNode(bytes, keys(), fields());
      if (status.ok()) ReportNode(NodeChange::kListed);
      return status;
    }
    ProtobufListMeta meta;
    if (const auto status = DecodeProtobufListMeta(bytes, meta); !status.ok()) return status;
    resource_version_ = meta.resource_version;
    continue_token_ = meta.continue_token;
    return absl::OkStatus();
  }
  if (field_ == kContentEncoding) return CheckProtobufEncoding(bytes);
  std::string_view kind;
  if (const auto status = DecodeProtobufKind(bytes, kind); !status.ok()) return status;
  if (kind.empty() || kind == "NodeList") return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("it is a ", Quoted(kind), ", not a \"NodeList\""));
}

// Also called at the beginning of the list, before its first field.
absl::Status ProtobufListReader::EndField() {
  step_ = Step::kKey;
  if (!in_list() || at_ < *list_end_) return absl::OkStatus();
  ended_ = true;
  const auto status = ReportListEnd(resource_version_, continue_token_);
  return status.ok() ? status : BrokenAt(at_, status.message());
}

// ---- a watch

absl::Status ProtobufWatchReader::Read(std::string_view bytes) {
  while (true) {
    if (!size_) {
      const auto length = held_.Take(bytes, kLengthSize);
      if (!length) return absl::OkStatus();
      const std::uint32_t size = LoadBe32(std::as_bytes(std::span(*length)).data());
      held_.Clear();
      if (size > kMaxObject) {
        return BrokenAt(frame_at_,
                        absl::StrCat("a frame of ", size, " bytes, more than ", kMaxObject));
      }
      size_ = size;
    }
    if (bytes.size() < *size_ - held_.size()) {
      held_.Append(bytes);
      if (!held_.leaves_out()) held_.LeaveOut(UnreadOfProtobufWatchEvent(held_.view(), *size_));
      return absl::OkStatus();
    }
    if (const auto status = ReadEvent(*held_.Take(bytes, *size_)); !status.ok())
      return BrokenAt(frame_at_, status.message());
    held_.Clear();
    frame_at_ += kLengthSize + *size_;
    size_.reset();
  }
}

absl::Status ProtobufWatchReader::Finish() {
  if (!size_ && held_.empty()) return absl::OkStatus();
  return BrokenAt(frame_at_ + held_.size() + (size_ ? kLengthSize : 0),
                  absl::StrCat("it ends within the frame that began at byte ", frame_at_));
}

absl::Status ProtobufWatchReader::ReadEvent(std::string_view bytes) {
  ProtobufWatchEvent event;
  if (const auto status = DecodeProtobufWatchEvent(bytes, event); !status.ok()) return status;
  const auto type = EventTypeOf(event.type);
  if (!type) return absl::DataLossError("a watch event of type " + Quoted(event.type));
  ProtobufBody body;
  if (const auto status = DecodeProtobufBody(event.object, body); !status.ok()) return status;
  switch (*type) {
    case EventType::kError: {
      ApiStatus error;
      if (const auto status = DecodeProtobufStatus(body.raw, error); !status.ok()) return status;
      ReportError(error);
      return absl::OkStatus();
    }
    case EventType::kBookmark: {
      ProtobufBookmark mark;
      if (const auto status = DecodeProtobufBookmark(body.raw, mark); !status.ok()) return status;
      return ReportBookmark(mark.resource_version, mark.initial_events_end);
    }
    case EventType::kAdded:
    case EventType::kModified:
    case EventType::kDeleted:
      break;
  }
  const auto status = DecodeProtobufNode(body.raw, keys(), fields());
  if (!status.ok()) return status;
  fields().kind = body.kind;
  ReportNode(ChangeOf(*type));
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<AnswerReader> MakeProtobufReader(AnswerKind kind, NodeReader nodes,
                                                 AnswerListener& listener) {
  if (kind == AnswerKind::kWatch)
    return std::make_unique<ProtobufWatchReader>(std::move(nodes), listener);
  return std::make_unique<ProtobufListReader>(std::move(nodes), listener);
}

}  // namespace weft::kube
