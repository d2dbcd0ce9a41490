// SPDX-License-Identifier: Apache-2.0
#include "vxlan/bytes.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/bytes.h"

namespace weft {
namespace {

TEST(Bytes, LoadsTakeTheFirstByteAsTheHighest) {
  const ByteVector bytes = Hex("01 23 45 67 89 ab cd ef");
  EXPECT_EQ(Load8(bytes.data()), 0x01);
  EXPECT_EQ(LoadBe16(bytes.data()), 0x0123);
  EXPECT_EQ(LoadBe32(bytes.data()), 0x0123'4567u);
  EXPECT_EQ(LoadBe64(bytes.data()), 0x0123'4567'89ab'cdefu);
}

TEST(Bytes, LoadsNeedNoAlignment) {
  const ByteVector bytes = Hex("ff 01 23 45 67 89 ab cd ef");
  EXPECT_EQ(LoadBe16(bytes.data() + 1), 0x0123);
  EXPECT_EQ(LoadBe32(bytes.data() + 1), 0x0123'4567u);
  EXPECT_EQ(LoadBe64(bytes.data() + 1), 0x0123'4567'89ab'cdefu);
}

TEST(Bytes, StoresWriteTheirOwnBytesOnly) {
  ByteVector bytes(10, std::byte{0xa5});
  StoreBe16(bytes.data() + 1, 0x0123);
  EXPECT_EQ(Dump(bytes), Dump(Hex("a5 0123 a5a5a5a5a5a5a5")));
  StoreBe32(bytes.data() + 1, 0x0123'4567);
  EXPECT_EQ(Dump(bytes), Dump(Hex("a5 01234567 a5a5a5a5a5")));
  StoreBe64(bytes.data() + 1, 0x0123'4567'89ab'cdef);
  EXPECT_EQ(Dump(bytes), Dump(Hex("a5 0123456789abcdef a5")));
  Store8(bytes.data(), 0x42);
  EXPECT_EQ(Load8(bytes.data()), 0x42);
}

// The constant-evaluated branch is different code from the one above.
template <typename T>
constexpr T ThroughMemory(T value) {
  std::array<std::byte, sizeof(T)> bytes{};
  detail::StoreBe(bytes.data(), value);
  return detail::LoadBe<T>(bytes.data());
}
static_assert(ThroughMemory<std::uint16_t>(0x0123) == 0x0123);
static_assert(ThroughMemory<std::uint32_t>(0x8123'4567) == 0x8123'4567);
static_assert(ThroughMemory<std::uint64_t>(0x8123'4567'89ab'cdef) == 0x8123'4567'89ab'cdef);

constexpr std::byte SecondByteOf(std::uint32_t value) {
  std::array<std::byte, 4> bytes{};
  StoreBe32(bytes.data(), value);
  return bytes[1];
}
static_assert(SecondByteOf(0x0123'4567) == std::byte{0x23});

}  // namespace
}  // namespace weft
