// SPDX-License-Identifier: Apache-2.0
#include "vxlan/checksum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <vector>

#include "tests/support/bytes.h"
#include "tests/support/packet_builder.h"
#include "vxlan/checksum_kernel.h"

namespace weft {
namespace {

constexpr unsigned kChecksumSeed = 1071;

// RFC 1071 section 1, literally: 16-bit words, carries added at once, an odd byte padded at the
// end.
std::uint16_t ObviousSum(Bytes bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const std::uint32_t high = Load8(bytes.data() + i);
    const std::uint32_t low = i + 1 < bytes.size() ? Load8(bytes.data() + i + 1) : 0;
    sum += high << 8 | low;
    if (sum > 0xffff) sum -= 0xffff;
  }
  return static_cast<std::uint16_t>(sum);
}

ByteVector RandomBytes(std::mt19937& random, std::size_t size) {
  ByteVector bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 0xff);
  return bytes;
}

std::vector<std::size_t> Lengths() {
  std::vector<std::size_t> lengths;
  for (std::size_t size = 0; size <= 200; ++size) lengths.push_back(size);
  for (const std::size_t size : {255u, 256u, 257u, 511u, 513u, 1450u, 1500u, 8999u, 65535u}) {
    lengths.push_back(size);
  }
  return lengths;
}

TEST(Checksum, TheExampleOfRfc1071) {
  EXPECT_EQ(Sum(Hex("00 01 f2 03 f4 f5 f6 f7")).Fold(), 0xddf2);
  EXPECT_EQ(Sum(Hex("00 01 f2 03 f4 f5 f6 f7")).Checksum(), 0x220d);
}

TEST(Checksum, SumAgreesWithTheReferenceAtEveryLengthAndAlignment) {
  std::mt19937 random(kChecksumSeed);
  SCOPED_TRACE(kChecksumSeed);
  for (const std::size_t size : Lengths()) {
    for (const std::size_t start : {0u, 1u, 2u, 3u, 7u}) {
      const ByteVector bytes = RandomBytes(random, start + size);
      const Bytes in = Bytes(bytes).subspan(start);
      ASSERT_EQ(Sum(in).Fold(), ObviousSum(in)) << size << " bytes from offset " << start;
    }
  }
}

// Nothing after the bytes is read.
TEST(Checksum, StoreChecksumAgreesWithTheReference) {
  std::mt19937 random(kChecksumSeed);
  SCOPED_TRACE(kChecksumSeed);
  constexpr std::size_t kBefore = 8;
  for (std::size_t size = 1; size <= 300; ++size) {
    ByteVector bytes = RandomBytes(random, kBefore + size);
    if (size % 5 == 0) std::fill(bytes.begin() + kBefore, bytes.end(), std::byte{0xff});
    const Bytes in = Bytes(bytes).subspan(kBefore);
    const auto expected = static_cast<std::uint16_t>(~ObviousSum(in));
    ByteVector field(2);
    StoreChecksum(field.data(), in);
    ASSERT_EQ(LoadBe16(field.data()), expected == 0 ? 0xffff : expected) << size << " bytes";
  }
}

TEST(Checksum, OnesDoNotOverflowTheLanes) {
  const ByteVector ones(65535, std::byte{0xff});
  EXPECT_EQ(Sum(ones).Fold(), ObviousSum(ones));
  EXPECT_EQ(Sum(ByteVector(65534, std::byte{0xff})).Fold(), 0xffff);
}

TEST(Checksum, OnlyZerosSumToZero) {
  EXPECT_EQ(Sum({}).Fold(), 0);
  EXPECT_EQ(Sum(ByteVector(1450)).Fold(), 0);
  ByteVector bytes(1450);
  bytes[1449] = std::byte{1};
  EXPECT_EQ(Sum(bytes).Fold(), 1);
}

// One for each kernel that is built anywhere, so that one which this CPU cannot run is a skip with
// a name.
constexpr std::array kKernels = {"portable", "avx2", "avx512"};
class ChecksumKernels : public ::testing::TestWithParam<const char*> {};

TEST_P(ChecksumKernels, AgreeWithTheReference) {
  const auto runnable = detail::RunnableChecksumKernels();
  const auto found = std::find_if(runnable.begin(), runnable.end(), [](const auto* kernel) {
    return std::string_view(kernel->name) == GetParam();
  });
  if (found == runnable.end()) GTEST_SKIP() << "this CPU has no " << GetParam();
  const detail::ChecksumKernel* const kernel = *found;
  std::mt19937 random(kChecksumSeed);
  SCOPED_TRACE(kChecksumSeed);
  for (const std::size_t size : Lengths()) {
    const ByteVector bytes = RandomBytes(random, size);
    std::uint16_t expected = ObviousSum(bytes);
    if constexpr (std::endian::native == std::endian::little)
      expected = __builtin_bswap16(expected);
    ASSERT_EQ(PartialSum(kernel->sum(bytes.data(), size)).Fold(), expected) << size;
    ByteVector copy(size + 1, std::byte{0xa5});
    ASSERT_EQ(PartialSum(kernel->copy_and_sum(copy.data(), bytes.data(), size)).Fold(), expected)
        << size;
    ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), copy.begin())) << size;
    ASSERT_EQ(copy.back(), std::byte{0xa5}) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Built, ChecksumKernels, ::testing::ValuesIn(kKernels),
                         [](const auto& row) { return row.param; });

TEST(Checksum, EveryRunnableKernelIsOneOfThese) {
  for (const detail::ChecksumKernel* const kernel : detail::RunnableChecksumKernels())
    EXPECT_THAT(kKernels, ::testing::Contains(::testing::StrEq(kernel->name)));
}

TEST(Checksum, CopyAndSumCopiesExactlyAndSums) {
  std::mt19937 random(kChecksumSeed);
  SCOPED_TRACE(kChecksumSeed);
  for (const std::size_t size : Lengths()) {
    const ByteVector from = RandomBytes(random, size);
    ByteVector to(size + 2, std::byte{0xa5});
    const PartialSum sum = CopyAndSum(MutableBytes(to).subspan(1), from);
    ASSERT_EQ(sum.Fold(), ObviousSum(from)) << size;
    ASSERT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1)) << size;
    ASSERT_EQ(to.front(), std::byte{0xa5});
    ASSERT_EQ(to.back(), std::byte{0xa5}) << size;
  }
}

TEST(Checksum, PiecesAddUpAtEvenAndOddOffsets) {
  std::mt19937 random(kChecksumSeed);
  SCOPED_TRACE(kChecksumSeed);
  for (const std::size_t size : {1u, 2u, 61u, 200u}) {
    const ByteVector bytes = RandomBytes(random, size);
    for (std::size_t cut = 0; cut <= size; ++cut) {
      PartialSum sum = Sum(Bytes(bytes).first(cut));
      sum.Append(Sum(Bytes(bytes).subspan(cut)), cut);
      ASSERT_EQ(sum.Fold(), ObviousSum(bytes)) << size << " cut at " << cut;
      if (cut % 2 == 0) {
        ASSERT_EQ((Sum(Bytes(bytes).first(cut)) + Sum(Bytes(bytes).subspan(cut))).Fold(),
                  ObviousSum(bytes));
      }
    }
  }
}

TEST(Checksum, AnIpv4HeaderWithoutOptions) {
  std::mt19937 random(kChecksumSeed);
  SCOPED_TRACE(kChecksumSeed);
  for (int round = 0; round < 100; ++round) {
    const ByteVector header = RandomBytes(random, 20);
    ASSERT_EQ(SumIpv4Header(header.data()).Fold(), ObviousSum(header));
  }
}

TEST(Checksum, PseudoHeaderV4IsTheSumOfItsBytes) {
  const ByteVector picture =
      Hex("0a f4 01 02"  // source
          "0a f4 02 03"  // destination
          "00 11"        // zero, protocol UDP
          "00 25");      // length 37
  EXPECT_EQ(PseudoHeaderV4(0x0af4'0102, 0x0af4'0203, IpProtocol::kUdp, 37).Fold(),
            ObviousSum(picture));
  EXPECT_EQ(PseudoHeader(Ip("10.244.1.2"), Ip("10.244.2.3"), IpProtocol::kUdp, 37).Fold(),
            ObviousSum(picture));
}

TEST(Checksum, PseudoHeaderV6IsTheSumOfItsBytes) {
  const ByteVector picture =
      Hex("20010db8 00000000 00000000 00000001"  // source
          "20010db8 ffffffff ffffffff 00000002"  // destination
          "00 01 00 25"                          // length 65573
          "00 00 00 06");                        // zero, next header TCP
  const IpAddress source = Ip("2001:db8::1");
  const IpAddress destination = Ip("2001:db8:ffff:ffff:ffff:ffff:0:2");
  EXPECT_EQ(PseudoHeader(source, destination, IpProtocol::kTcp, 65573).Fold(), ObviousSum(picture));
}

// RFC 1624 section 4: equation 2 gives 0xffff here, equation 3 the right 0x0000.
TEST(Checksum, UpdateTheExampleOfRfc1624) {
  EXPECT_EQ(UpdateChecksum16(0xdd2f, 0x5555, 0x3285), 0x0000);
}

TEST(Checksum, UpdateAgreesWithRecomputing) {
  std::mt19937 random(kChecksumSeed);
  SCOPED_TRACE(kChecksumSeed);
  for (int round = 0; round < 5000; ++round) {
    ByteVector bytes = RandomBytes(random, 20);
    bytes[0] |= std::byte{1};  // never all zero
    // Zeros and ones are where end-around carries go wrong.
    const std::uint16_t choices[] = {0, 0xffff, static_cast<std::uint16_t>(random())};
    const std::uint16_t half = choices[random() % 3];
    const std::uint16_t old_half = LoadBe16(bytes.data() + 18);
    const std::uint16_t now = Sum(bytes).Checksum();
    StoreBe16(bytes.data() + 18, half);
    ASSERT_EQ(UpdateChecksum16(now, old_half, half), Sum(bytes).Checksum());
  }
}

TEST(Checksum, RightMeansAllOnes) {
  ByteVector bytes = Hex("45 00 00 1c 00 00 00 00 40 01 00 00 0a 00 00 01 0a 00 00 02");
  StoreBe16(bytes.data() + 10, Sum(bytes).Checksum());
  EXPECT_TRUE(Sum(bytes).IsRight());
  bytes[3] ^= std::byte{1};
  EXPECT_FALSE(Sum(bytes).IsRight());
}

}  // namespace
}  // namespace weft
