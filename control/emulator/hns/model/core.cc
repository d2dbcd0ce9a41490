// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/core.h"

#include <array>

namespace weft::hns::emulator {
namespace {

// Vigna's splitmix64: any state is valid, so a seed and a count define the sequence.
std::uint64_t Mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}
constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ull;

// RFC 4122, section 4.4.
Guid RandomGuid(std::uint64_t high, std::uint64_t low) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t at = 0; at < 8; ++at) {
    bytes[at] = static_cast<std::uint8_t>(high >> (8 * at));
    bytes[at + 8] = static_cast<std::uint8_t>(low >> (8 * at));
  }
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0F) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3F) | 0x80);
  return Guid(bytes);
}

}  // namespace

std::uint64_t Draw(Core& core) { return Mix(core.settings.seed + kStep * ++core.state.drawn); }

Guid NewGuid(Core& core) {
  const std::uint64_t high = Draw(core);
  return RandomGuid(high, Draw(core));
}

Guid GuidOf(const Settings& settings, std::string_view text) {
  std::uint64_t hash = settings.seed ^ 0xCBF29CE484222325ull;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return RandomGuid(Mix(hash), Mix(hash + kStep));
}

void Notify(Core& core, Notification type, const Guid& id, std::uint32_t flags) {
  core.events.push_back({type, Dump({{"ID", id.ToString()}, {"Flags", flags}})});
}

Guid IdFor(Core& core, const Guid& id, const Json& document) {
  if (!id.is_zero()) return id;
  const Json& desired = Field(document, "ID");
  if (desired.is_null() || desired == "") return NewGuid(core);
  const auto guid = Guid::Parse(TextOf(desired));
  if (!guid) return Guid();
  return guid->is_zero() ? NewGuid(core) : *guid;
}

}  // namespace weft::hns::emulator
