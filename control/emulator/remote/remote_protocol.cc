// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/remote_protocol.h"

#include <limits>
#include <optional>
#include <span>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace weft::hns::emulator {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kOperations[] = {
    "hello", "enumerate", "create",    "open",        "modify",  "query", "delete",
    "close", "call",      "subscribe", "unsubscribe", "control", "host",  "watch host"};
constexpr std::string_view kKinds[] = {"network", "endpoint", "namespace", "load balancer"};

// Half a UTF-16 surrogate pair is not valid UTF-8, and is sent as U+FFFD.
std::string Text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::Status WrongMessage(std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the other end of the HNS emulator's connection sent ", what,
                   "; use programs of one version of weft"));
}

std::string String(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Empty: the member is present but not a number from 0 to `most`. Absent: 0.
std::optional<std::uint64_t> Number(const Json& object, const char* key, std::uint64_t most) {
  const auto found = object.find(key);
  if (found == object.end()) return 0;
  if (!found->is_number_unsigned()) return std::nullopt;
  const auto value = found->get<std::uint64_t>();
  return value <= most ? std::optional(value) : std::nullopt;
}

std::optional<std::size_t> Find(std::span<const std::string_view> names, std::string_view name) {
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (names[at] == name) return at;
  }
  return std::nullopt;
}

void PutText(Json& object, const char* key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMost64 = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::string Encode(const Request& request) {
  Json json{{"op", kOperations[static_cast<std::size_t>(request.operation)]},
            {"kind", kKinds[static_cast<std::size_t>(request.kind)]}};
  if (request.handle != Handle::kNone) json["handle"] = static_cast<std::uint64_t>(request.handle);
  if (!request.id.is_zero()) json["id"] = request.id.ToString();
  PutText(json, "text", request.text);
  PutText(json, "method", request.method);
  PutText(json, "path", request.path);
  return Text(json);
}

std::string Encode(const Reply& reply) {
  Json json{{"code", reply.code}};
  if (reply.handle != Handle::kNone) json["handle"] = static_cast<std::uint64_t>(reply.handle);
  PutText(json, "text", reply.text);
  PutText(json, "error", reply.error_record);
  return Text(json);
}

std::string Encode(const Notice& notice) {
  Json json{{"notification", static_cast<std::uint32_t>(notice.type)}};
  PutText(json, "data", notice.data);
  return Text(json);
}

absl::StatusOr<Request> ParseRequest(std::string_view document) {
  const Json json = Json::parse(document, nullptr, false);
  if (!json.is_object()) return WrongMessage("what is no JSON object");
  Request request;
  const std::string name = String(json, "op");
  const std::optional<std::size_t> operation = Find(kOperations, name);
  if (!operation) return WrongMessage(absl::StrCat("the unknown request \"", name, "\""));
  request.operation = static_cast<RequestKind>(*operation);
  const std::optional<std::size_t> kind = Find(kKinds, String(json, "kind"));
  if (!kind) return WrongMessage("a request about an unknown kind of object");
  request.kind = static_cast<Kind>(*kind);
  const std::optional<std::uint64_t> handle = Number(json, "handle", kMost64);
  if (!handle) return WrongMessage("a handle that is no number");
  request.handle = static_cast<Handle>(*handle);
  if (json.contains("id")) {
    const std::optional<Guid> id = Guid::Parse(String(json, "id"));
    if (!id) return WrongMessage("an id that is no GUID");
    request.id = *id;
  }
  request.text = String(json, "text");
  request.method = String(json, "method");
  request.path = String(json, "path");
  return request;
}

absl::StatusOr<std::variant<Reply, Notice>> ParseAnswer(std::string_view document) {
  using Answer = std::variant<Reply, Notice>;
  const Json json = Json::parse(document, nullptr, false);
  if (!json.is_object()) return WrongMessage("what is no JSON object");
  if (json.contains("notification")) {
    const std::optional<std::uint64_t> type = Number(json, "notification", kMost32);
    if (!type) return WrongMessage("a notification whose type is no number");
    return Answer(Notice{static_cast<Notification>(*type), String(json, "data")});
  }
  const std::optional<std::uint64_t> code = Number(json, "code", kMost32);
  const std::optional<std::uint64_t> handle = Number(json, "handle", kMost64);
  if (!json.contains("code") || !code) return WrongMessage("a reply without a code");
  if (!handle) return WrongMessage("a handle that is no number");
  Reply reply;
  reply.code = static_cast<Hresult>(*code);
  reply.handle = static_cast<Handle>(*handle);
  reply.text = String(json, "text");
  reply.error_record = String(json, "error");
  return Answer(std::move(reply));
}

std::string Frame(std::string_view document) {
  std::string frame;
  frame.reserve(kLengthSize + document.size());
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame.push_back(static_cast<char>((document.size() >> shift) & 0xff));
  }
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
