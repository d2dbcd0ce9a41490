// SPDX-License-Identifier: Apache-2.0
#include "vxlan/bytes.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/octets.h"

namespace weft {
namespace {

TEST(Bytes, LoadsTakeTheFirstOctetAsTheHighest) {
  const Octets octets = Hex("01 23 45 67 89 ab cd ef");
  EXPECT_EQ(Load8(octets.data()), 0x01);
  EXPECT_EQ(LoadBe16(octets.data()), 0x0123);
  EXPECT_EQ(LoadBe32(octets.data()), 0x0123'4567u);
  EXPECT_EQ(LoadBe64(octets.data()), 0x0123'4567'89ab'cdefu);
}

TEST(Bytes, LoadsNeedNoAlignment) {
  const Octets octets = Hex("ff 01 23 45 67 89 ab cd ef");
  EXPECT_EQ(LoadBe16(octets.data() + 1), 0x0123);
  EXPECT_EQ(LoadBe32(octets.data() + 1), 0x0123'4567u);
  EXPECT_EQ(LoadBe64(octets.data() + 1), 0x0123'4567'89ab'cdefu);
}

TEST(Bytes, StoresWriteTheirOwnOctetsOnly) {
  Octets octets(10, std::byte{0xa5});
  StoreBe16(octets.data() + 1, 0x0123);
  EXPECT_EQ(Dump(octets), Dump(Hex("a5 0123 a5a5a5a5a5a5a5")));
  StoreBe32(octets.data() + 1, 0x0123'4567);
  EXPECT_EQ(Dump(octets), Dump(Hex("a5 01234567 a5a5a5a5a5")));
  StoreBe64(octets.data() + 1, 0x0123'4567'89ab'cdef);
  EXPECT_EQ(Dump(octets), Dump(Hex("a5 0123456789abcdef a5")));
  Store8(octets.data(), 0x42);
  EXPECT_EQ(Load8(octets.data()), 0x42);
}

// The constant-evaluated branch is other code than the one above.
template <typename T>
constexpr T ThroughMemory(T value) {
  std::array<std::byte, sizeof(T)> octets{};
  detail::StoreBe(octets.data(), value);
  return detail::LoadBe<T>(octets.data());
}
static_assert(ThroughMemory<std::uint16_t>(0x0123) == 0x0123);
static_assert(ThroughMemory<std::uint32_t>(0x8123'4567) == 0x8123'4567);
static_assert(ThroughMemory<std::uint64_t>(0x8123'4567'89ab'cdef) == 0x8123'4567'89ab'cdef);

constexpr std::byte SecondOctetOf(std::uint32_t value) {
  std::array<std::byte, 4> octets{};
  StoreBe32(octets.data(), value);
  return octets[1];
}
static_assert(SecondOctetOf(0x0123'4567) == std::byte{0x23});

}  // namespace
}  // namespace weft
