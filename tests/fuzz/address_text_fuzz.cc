// SPDX-License-Identifier: Apache-2.0
// Any text as an address, a prefix, a MAC or a GUID: an accepted value prints and parses to the
// same value, and its printed form is canonical.
#include <cstdint>
#include <string_view>

#include "hns/document/guid.h"
#include "tests/fuzz/input.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/mac_address.h"

namespace {

using weft::fuzz::Require;

template <typename Value>
void RoundTrip(std::string_view text, const char* what) {
  const auto value = Value::Parse(text);
  if (!value) return;
  const std::string printed = value->ToString();
  const auto again = Value::Parse(printed);
  Require(again == value && again->ToString() == printed, what);
}

void CheckPrefix(std::string_view text) {
  const auto prefix = weft::IpPrefix::Parse(text);
  const std::size_t slash = text.find('/');
  if (!prefix) return;
  Require(slash != std::string_view::npos, "a prefix has a length");
  const auto address = weft::IpAddress::Parse(text.substr(0, slash));
  Require(address && address->family() == prefix->family(), "a prefix begins with an address");
  Require(prefix->Contains(*address) && prefix->Contains(prefix->base()), "its own address");
  Require(weft::IpPrefix::From(*address, prefix->length()) == prefix, "a prefix of its address");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  RoundTrip<weft::IpAddress>(text, "an address");
  RoundTrip<weft::IpPrefix>(text, "a prefix");
  RoundTrip<weft::MacAddress>(text, "a MAC");
  RoundTrip<weft::hns::Guid>(text, "a GUID");
  CheckPrefix(text);
  return 0;
}
