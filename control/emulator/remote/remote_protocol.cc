// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/remote_protocol.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "control/json_fields.h"
#include "nlohmann/json.hpp"

namespace weft::control {

template <>
inline constexpr std::string_view kTextValue<hns::Guid> = "a GUID";

}  // namespace weft::control

namespace weft::hns {

void Fields(auto& visit, control::Is<Reply> auto& reply) {
  visit.Required("code", reply.code);
  visit.Optional("handle", reply.handle);
  visit.Optional("text", reply.text);
  visit.Optional("error", reply.error_record);
}

}  // namespace weft::hns

namespace weft::hns::emulator {
namespace {

using control::Json;

// In the order of Operation; then in that of RequestKind, but for kApi.
constexpr std::string_view kOperations[] = {
    "enumerate", "create",    "open",        "modify", "query",   "delete", "close",
    "call",      "subscribe", "unsubscribe", "hello",  "control", "host",   "watch host"};
constexpr auto kOthers = static_cast<std::uint8_t>(Operation::kUnsubscribe);
// In the order of Kind.
constexpr std::string_view kKinds[] = {"network", "endpoint", "namespace", "load balancer"};

// Half a UTF-16 surrogate pair is not valid UTF-8, and is sent as U+FFFD.
std::string Text(const auto& value) {
  const Json json = control::JsonWriter::Encode(value);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::Status WrongMessage(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the other end of the HNS emulator's connection sent ", what,
                   "; use programs of one version of weft"));
}

template <class T>
absl::StatusOr<T> ValueOf(const Json& json) {
  control::JsonReader visit(json, "");
  T value;
  Fields(visit, value);
  if (visit.status().ok()) return value;
  return WrongMessage(absl::StrCat("what is wrong: ", visit.status().message()));
}

}  // namespace

void Fields(auto& visit, control::Is<Request> auto& request) {
  enum class Op : std::uint8_t {};
  auto op = static_cast<std::uint8_t>(request.call.operation);
  if (request.kind != RequestKind::kApi) op = kOthers + static_cast<std::uint8_t>(request.kind);
  auto word = static_cast<Op>(op);
  control::Word(visit, "op", kOperations, word);
  if constexpr (control::kReads<decltype(visit)>) {
    op = static_cast<std::uint8_t>(word);
    request.kind = static_cast<RequestKind>(std::max(op, kOthers) - kOthers);
    if (request.kind == RequestKind::kApi) request.call.operation = static_cast<Operation>(op);
  }
  control::Word(visit, "kind", kKinds, request.call.kind);
  visit.Optional("handle", request.call.handle);
  visit.Optional("id", request.call.id);
  visit.Optional("text", request.call.text);
  visit.Optional("method", request.call.method);
  visit.Optional("path", request.call.path);
}

void Fields(auto& visit, control::Is<Notice> auto& notice) {
  visit.Required("notification", notice.type);
  visit.Optional("data", notice.data);
}

std::string Encode(const Request& request) { return Text(request); }
std::string Encode(const Reply& reply) { return Text(reply); }
std::string Encode(const Notice& notice) { return Text(notice); }

absl::StatusOr<Request> ParseRequest(std::string_view document) {
  return ValueOf<Request>(Json::parse(document, nullptr, false));
}

absl::StatusOr<std::variant<Reply, Notice>> ParseAnswer(std::string_view document) {
  const Json json = Json::parse(document, nullptr, false);
  if (json.contains("notification")) return ValueOf<Notice>(json);
  return ValueOf<Reply>(json);
}

std::string Frame(std::string_view document) {
  std::string frame;
  frame.reserve(kLengthSize + document.size());
  for (int shift = 24; shift >= 0; shift -= 8)
    frame.push_back(static_cast<char>((document.size() >> shift) & 0xff));
  frame += document;
  return frame;
}

absl::StatusOr<std::size_t> ParseLength(const std::array<char, kLengthSize>& bytes) {
  std::size_t length = 0;
  for (const char byte : bytes) length = length << 8 | static_cast<unsigned char>(byte);
  if (length > kMostBytes) return WrongMessage(absl::StrCat("a document of ", length, " bytes"));
  return length;
}

bool WriteDocument(Stream& stream, std::string_view document) {
  return document.size() <= kMostBytes && stream.Write(Frame(document)).ok();
}

absl::StatusOr<std::string> ReadDocument(Stream& stream) {
  const auto read_all = [&stream](std::span<char> into) {
    while (!into.empty()) {
      const absl::StatusOr<std::size_t> size = stream.Read(into);
      if (!size.ok() || *size == 0) return false;
      into = into.subspan(*size);
    }
    return true;
  };
  const absl::Status ended = absl::UnavailableError("the connection to the HNS emulator has ended");
  std::array<char, kLengthSize> head{};
  if (!read_all(head)) return ended;
  const absl::StatusOr<std::size_t> length = ParseLength(head);
  if (!length.ok()) return length.status();
  std::string document(*length, '\0');
  if (!read_all(document)) return ended;
  return document;
}

}  // namespace weft::hns::emulator
