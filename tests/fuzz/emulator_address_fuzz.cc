// SPDX-License-Identifier: Apache-2.0
// Any text as the address of an emulator or as an adapter of one: refused in one sentence, or
// printed and parsed it is the same.
#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "control/emulator/adapter_text.h"
#include "control/emulator/open_hns.h"
#include "hns/emulator/remote/address.h"
#include "tests/fuzz/input.h"

namespace {

using weft::fuzz::Require;

void CheckAddress(std::string_view text) {
  const auto address = weft::hns::emulator::ParseAddress(text);
  if (!address.ok()) {
    Require(address.status().message().find("write tcp:") != std::string_view::npos, "a next step");
    return;
  }
  Require(address->path.empty() != address->host.empty(), "a path, or host and port");
  Require(address->host.empty() == address->port.empty(), "a path, or host and port");
  const auto again = weft::hns::emulator::ParseAddress(address->ToString());
  Require(again.ok() && *again == *address, "printed and parsed it is the same");
}

std::string Text(const weft::host::Adapter& adapter) {
  std::string text = absl::StrCat(adapter.name, "=");
  const char* before = "";
  for (const auto& each : adapter.addresses) {
    absl::StrAppend(&text, before, each.address.ToString(), "/", each.prefix_length);
    before = ",";
  }
  return text;
}

void CheckAdapter(std::string_view text) {
  const auto adapter = weft::emulator::ParseAdapter(text);
  if (!adapter.ok()) return;
  Require(!adapter->name.empty(), "an adapter has a name");
  const auto again = weft::emulator::ParseAdapter(Text(*adapter));
  Require(again.ok() && Text(*again) == Text(*adapter), "printed and parsed it is the same");
  for (const auto& each : adapter->addresses)
    Require(each.prefix_length >= 0 && each.prefix_length <= (each.address.is_v4() ? 32 : 128),
            "a length of the family");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckAddress(text);
  CheckAdapter(text);
  return 0;
}
