// SPDX-License-Identifier: Apache-2.0
// Api calls on a connection: JSON documents, each preceded by its length. Each request is answered
// by one reply before the next is sent; a connection that subscribed also carries notifications. A
// private protocol: both ends are weft's, of the same version.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "control/admin/local_connection.h"
#include "hns/api/api.h"
#include "hns/document/guid.h"

namespace weft::hns::emulator {

enum class RequestKind : std::uint8_t {
  kApi,        // a call of the Api; kUnsubscribe: on the connection that subscribed
  kHello,      // the first on a connection; the text is the client's identity on all of them
  kControl,    // the text is a command to the emulator itself
  kHost,       // the text is a call to the host of the service
  kWatchHost,  // from here on the connection carries kHostChanged only
};

struct Request {
  RequestKind kind = RequestKind::kHello;
  ApiCall call{};  // without `notify`; of another kind than kApi: its text alone
};

// The type of a notice that the host has changed; HNS has no such type.
inline constexpr Notification kHostChanged{};

struct Notice {
  Notification type{};
  std::string data;
};

// The document, without its length.
std::string Encode(const Request& request);
std::string Encode(const Reply& reply);
std::string Encode(const Notice& notice);
absl::StatusOr<Request> ParseRequest(std::string_view document);
absl::StatusOr<std::variant<Reply, Notice>> ParseAnswer(std::string_view document);

inline constexpr std::size_t kLengthSize = 4;
// A network of 100,000 routes is 25 MB.
inline constexpr std::size_t kMostBytes = 64u << 20;

// The document preceded by its length: 4 bytes, network order.
std::string Frame(std::string_view document);
// The length in these bytes; refused above kMostBytes.
absl::StatusOr<std::size_t> ParseLength(const std::array<char, kLengthSize>& bytes);

// One thread reads, one writes.
using Stream = admin::LocalConnection;
// False: the connection has ended.
bool WriteDocument(Stream& stream, std::string_view document);
// Unavailable: the connection has ended.
absl::StatusOr<std::string> ReadDocument(Stream& stream);

}  // namespace weft::hns::emulator
