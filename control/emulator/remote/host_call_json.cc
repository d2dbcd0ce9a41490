// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "control/emulator/host/members_json.h"
#include "control/emulator/remote/host_call.h"

namespace weft::host {

constexpr auto kHighestCode = static_cast<std::uint32_t>(absl::StatusCode::kUnauthenticated);

template <class V>
void Fields(V& visit, Described<V, absl::Status>& status) {
  auto code = static_cast<std::uint32_t>(status.raw_code());
  std::string message(status.message());
  visit("code", code);
  visit("message", message);
  if constexpr (V::kReads) {
    if (code > kHighestCode)
      visit.Refuse("code", absl::StrCat("is not a whole number from 0 to ", kHighestCode));
    status = absl::Status(static_cast<absl::StatusCode>(code), message);
  }
}

}  // namespace weft::host

namespace weft::emulator {
namespace {

constexpr std::string_view kOperations[] = {"adapters",
                                            "routes",
                                            "route-to",
                                            "name-servers",
                                            "set-link-up",
                                            "add-address",
                                            "put-routes",
                                            "remove-routes",
                                            "set-forwarding",
                                            "forwarding",
                                            "allow-udp-in",
                                            "find-firewall-rule",
                                            "remove-firewall-rule",
                                            "replace-routes",
                                            "read-static-ip",
                                            "put-static-ip"};
constexpr std::string_view kOwners[] = {"", "ours", "other"};

// A member whose value is one of `words`, by its index.
template <class V, class Enum, std::size_t N>
void Word(V& visit, const char* key, const std::string_view (&words)[N], Enum& value) {
  std::string word(words[static_cast<std::size_t>(value)]);
  visit(key, word);
  if constexpr (V::kReads) {
    const std::string_view* const found = std::ranges::find(words, word);
    if (found == std::end(words)) return visit.Refuse(key, "is none that this version knows");
    value = static_cast<Enum>(found - std::begin(words));
  }
}

template <class T>
std::string Text(const T& value) {
  return host::MembersWriter::Encode(value).dump(-1, ' ', false,
                                                 host::Json::error_handler_t::replace);
}

}  // namespace

template <class V>
void Fields(V& visit, host::Described<V, HostCall>& call) {
  Word(visit, "call", kOperations, call.operation);
  bool ipv6 = call.family == IpFamily::kV6;
  visit("ipv6", ipv6);
  if constexpr (V::kReads) call.family = ipv6 ? IpFamily::kV6 : IpFamily::kV4;
  visit("adapter", call.adapter);
  visit("mtu", call.mtu);
  visit("address", call.address);
  visit("routes", call.routes);
  visit("on", call.on);
  visit("static", call.static_ip);
  visit("rule", call.rule);
}

template <class V>
void Fields(V& visit, host::Described<V, HostAnswer>& answer) {
  Fields(visit, answer.status);
  visit("adapters", answer.adapters);
  visit("routes", answer.routes);
  visit("nameServers", answer.name_servers);
  visit("static", answer.static_ip);
  visit("results", answer.results);
  visit("on", answer.on);
  visit("corrected", answer.corrected);
  Word(visit, "owner", kOwners, answer.owner);
}

std::string Encode(const HostCall& call) { return Text(call); }
std::string Encode(const HostAnswer& answer) { return Text(answer); }

absl::StatusOr<HostCall> ParseHostCall(std::string_view text) {
  return host::ParseHostValue<HostCall>(text);
}
absl::StatusOr<HostAnswer> ParseHostAnswer(std::string_view text) {
  return host::ParseHostValue<HostAnswer>(text);
}

}  // namespace weft::emulator
