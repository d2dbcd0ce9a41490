// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/host/adapter_text.h"

#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/emulator/host/values_json.h"

namespace weft::emulator {
namespace {

std::optional<host::AssignedAddress> ParseAddress(std::string_view text) {
  if (text.find('/') != std::string_view::npos) return host::AssignedAddress::Parse(text);
  const auto address = IpAddress::Parse(text);
  if (!address) return std::nullopt;
  return host::AssignedAddress{*address, address->is_v4() ? 24 : 64};
}

}  // namespace

std::optional<std::vector<host::AssignedAddress>> ParseAddresses(std::string_view text) {
  std::vector<host::AssignedAddress> addresses;
  for (const std::string_view each : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const auto address = ParseAddress(each);
    if (!address) return std::nullopt;
    addresses.push_back(*address);
  }
  return addresses;
}

absl::StatusOr<host::Adapter> ParseAdapter(std::string_view text) {
  const std::size_t equals = text.find('=');
  host::Adapter adapter;
  adapter.name = text.substr(0, equals);
  auto addresses =
      equals == std::string_view::npos ? std::nullopt : ParseAddresses(text.substr(equals + 1));
  if (adapter.name.empty() || !addresses)
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no adapter; write NAME=ADDRESS/LENGTH,..."));
  adapter.addresses = *std::move(addresses);
  return adapter;
}

std::uint32_t AddNic(host::EmulatedHost& host, host::Adapter adapter, bool usable) {
  const std::uint32_t index = host.state().next_index;
  adapter.index = index;
  adapter.mtu = 1500;
  adapter.up = true;
  const std::array bytes{std::byte{0x00},
                         std::byte{0x15},
                         std::byte{0x5d},
                         std::byte{0x00},
                         static_cast<std::byte>(index >> 8),
                         static_cast<std::byte>(index)};
  if (adapter.mac == MacAddress()) adapter.mac = MacAddress::FromBytes(bytes.data());
  return host.AddAdapter(std::move(adapter), usable);
}

}  // namespace weft::emulator
