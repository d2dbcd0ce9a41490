// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/answer_reader_protobuf_watch.h"

#include <span>

#include "absl/strings/str_cat.h"
#include "control/kube/codec/api_status_codec.h"
#include "control/kube/codec/node_codec_protobuf.h"
#include "vxlan/bytes.h"
#include "vxlan/text/printable.h"

namespace weft::kube {

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

}  // namespace weft::kube
