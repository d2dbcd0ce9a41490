// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/api_status.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "control/kube/codec/api_status_codec.h"
#include "control/kube/codec/json_value.h"
#include "control/kube/codec/node_codec_protobuf.h"
#include "control/kube/codec/node_codec_protobuf_fields.h"

namespace weft::kube {
namespace {

std::string_view Text(simdjson::dom::object object, std::string_view key) {
  std::string_view text;
  if (const auto value = Find(object, key)) std::ignore = value->get(text);
  return text;
}

std::int64_t Number(simdjson::dom::object object, std::string_view key) {
  std::int64_t number = 0;
  if (const auto value = Find(object, key)) std::ignore = value->get(number);
  return number;
}

void ReadDetails(simdjson::dom::object details, ApiStatus& status) {
  SetRetryAfter(Number(details, "retryAfterSeconds"), status);
  const auto causes = Find(details, "causes");
  if (!causes || !causes->is_array()) return;
  const simdjson::dom::array list = causes->get_array().value_unsafe();
  for (const auto cause : list) {
    if (!cause.is_object()) continue;
    const auto members = cause.get_object().value_unsafe();
    AddCause(Text(members, "reason"), Text(members, "message"), status);
  }
}

}  // namespace

bool ReadJsonStatus(simdjson::dom::element value, ApiStatus& status) {
  if (!value.is_object()) return false;
  const auto members = value.get_object().value_unsafe();
  if (Text(members, "kind") != "Status") return false;
  SetCode(Number(members, "code"), status);
  status.reason = StatusLine(Text(members, "reason"));
  status.message = StatusLine(Text(members, "message"));
  const auto details = Find(members, "details");
  if (details && details->is_object()) ReadDetails(details->get_object().value_unsafe(), status);
  return true;
}

bool DecodeJsonStatus(std::string_view text, ApiStatus& status) {
  if (text.empty()) return false;  // simdjson copies from it, null or not
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  return parser.parse(text.data(), text.size()).get(root) == simdjson::SUCCESS &&
         ReadJsonStatus(root, status);
}

namespace {

constexpr std::size_t kMaxMessage = 300;
constexpr std::chrono::hours kLongestWait{24};  // more is a mistake of the server

bool DecodeBody(std::string_view content_type, std::string_view body, ApiStatus& status) {
  if (absl::StartsWithIgnoreCase(content_type, "application/vnd.kubernetes.protobuf")) {
    ProtobufBody object;
    return DecodeProtobufBody(body, object).ok() && object.kind == "Status" &&
           DecodeProtobufStatus(object.raw, status).ok();
  }
  return absl::StartsWithIgnoreCase(content_type, "application/json") &&
         DecodeJsonStatus(body, status);
}

}  // namespace

std::string StatusLine(std::string_view text) {
  text = absl::StripAsciiWhitespace(text).substr(0, kMaxMessage);
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return line;
}

void SetCode(std::int64_t code, ApiStatus& status) {
  status.code = code > 0 && code < 1000 ? static_cast<int>(code) : 0;
}

void SetRetryAfter(std::int64_t seconds, ApiStatus& status) {
  if (seconds <= 0) return;
  status.retry_after = std::min<std::chrono::seconds>(std::chrono::seconds(seconds), kLongestWait);
}

// The reason as in client-go; servers before 1.18.6 send only the message.
void AddCause(std::string_view reason, std::string_view message, ApiStatus& status) {
  if (reason == "ResourceVersionTooLarge" || message == "Too large resource version")
    status.resource_version_too_large = true;
}

ApiStatus DecodeApiStatus(int http_status, std::string_view content_type, std::string_view body) {
  ApiStatus status;
  if (!DecodeBody(content_type, body, status)) {
    status = {};
    status.message = StatusLine(body);
  }
  if (status.code == 0) status.code = http_status;
  return status;
}

namespace {

using protobuf::Field;
using protobuf::ForEachField;
using protobuf::Number;
using protobuf::Text;

void ReadCause(std::string_view bytes, ApiStatus& status) {
  std::string_view reason, message;
  ForEachField(bytes, [&](const Field& field) {
    if (field.key == Text(1)) reason = field.text;
    if (field.key == Text(2)) message = field.text;
  });
  AddCause(reason, message, status);
}

void ReadDetails(std::string_view bytes, ApiStatus& status) {
  ForEachField(bytes, [&](const Field& field) {
    if (field.key == Text(4)) ReadCause(field.text, status);
    if (field.key == Number(5)) SetRetryAfter(static_cast<std::int32_t>(field.number), status);
  });
}

}  // namespace

absl::Status DecodeProtobufStatus(std::string_view bytes, ApiStatus& status) {
  status = {};
  return protobuf::Decoded("Status", [&] {
    ForEachField(bytes, [&](const Field& field) {
      if (field.key == Text(3)) status.message = StatusLine(field.text);
      if (field.key == Text(4)) status.reason = StatusLine(field.text);
      if (field.key == Text(5)) ReadDetails(field.text, status);
      if (field.key == Number(6)) SetCode(static_cast<std::int32_t>(field.number), status);
    });
  });
}

}  // namespace weft::kube
