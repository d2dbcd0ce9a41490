// SPDX-License-Identifier: Apache-2.0
#include "vxlan/checksum.h"

#include "vxlan/checksum_kernel.h"

namespace weft {
namespace {

const detail::ChecksumKernel& Kernel() {
  static const detail::ChecksumKernel& kernel = *detail::RunnableChecksumKernels().back();
  return kernel;
}

// Adds with end-around carry. The carries are counted apart, so that consecutive additions do not
// wait for each other's carry; two chains keep both adders busy.
class WordSum {
 public:
  void Add(std::uint64_t even, std::uint64_t odd) {
    even_ += even;
    even_carries_ += even_ < even;
    odd_ += odd;
    odd_carries_ += odd_ < odd;
  }
  // 2^64 is 1 modulo 2^16 - 1: a carry counts one.
  std::uint64_t Total() const {
    return (even_ & 0xffff'ffff) + (even_ >> 32) + even_carries_ + (odd_ & 0xffff'ffff) +
           (odd_ >> 32) + odd_carries_;
  }

 private:
  std::uint64_t even_ = 0;
  std::uint64_t even_carries_ = 0;
  std::uint64_t odd_ = 0;
  std::uint64_t odd_carries_ = 0;
};

using detail::LoadNative;

// Adds fewer than 8 bytes. A word's position does not matter as long as it begins at an even
// offset; an odd last byte is the first byte of its word.
void AddTail(WordSum& sum, const std::byte* from, std::size_t size) {
  std::uint64_t words = 0;
  if ((size & 4) != 0) {
    words += LoadNative<std::uint32_t>(from);
    from += 4;
  }
  if ((size & 2) != 0) {
    words += LoadNative<std::uint16_t>(from);
    from += 2;
  }
  if ((size & 1) != 0) {
    std::uint16_t last = 0;
    std::memcpy(&last, from, 1);
    words += last;
  }
  sum.Add(words, 0);
}

std::uint64_t SumPortable(const std::byte* from, std::size_t size) {
  WordSum sum;
  const auto load = [](const std::byte* at) { return LoadNative<std::uint64_t>(at); };
  for (; size >= 32; from += 32, size -= 32) {
    sum.Add(load(from), load(from + 8));
    sum.Add(load(from + 16), load(from + 24));
  }
  for (; size >= 8; from += 8, size -= 8) sum.Add(load(from), 0);
  AddTail(sum, from, size);
  return sum.Total();
}

// memcpy uses wider loads than portable code can: two passes are faster than one.
std::uint64_t CopyAndSumPortable(std::byte* to, const std::byte* from, std::size_t size) {
  if (size != 0) std::memcpy(to, from, size);
  return SumPortable(from, size);
}

}  // namespace

namespace detail {
const ChecksumKernel kPortableKernel = {"portable", SumPortable, CopyAndSumPortable};
}  // namespace detail

std::uint64_t detail::SumNative(Bytes bytes) { return Kernel().sum(bytes.data(), bytes.size()); }

PartialSum Sum(Bytes bytes) { return PartialSum(detail::FoldNative(detail::SumNative(bytes))); }

PartialSum CopyAndSum(MutableBytes destination, Bytes source) {
  return PartialSum(
      detail::FoldNative(Kernel().copy_and_sum(destination.data(), source.data(), source.size())));
}

PartialSum PseudoHeaderV6(std::span<const std::byte, 16> source,
                          std::span<const std::byte, 16> destination, IpProtocol protocol,
                          std::uint32_t length) {
  PartialSum sum;
  for (std::size_t i = 0; i < 16; i += 4)
    sum.Add(LoadBe32(source.data() + i)).Add(LoadBe32(destination.data() + i));
  return sum.Add(length).Add(static_cast<std::uint8_t>(protocol));
}

PartialSum PseudoHeader(const IpAddress& source, const IpAddress& destination, IpProtocol protocol,
                        std::uint32_t length) {
  if (source.is_v4()) return PseudoHeaderV4(source.v4(), destination.v4(), protocol, length);
  return PseudoHeaderV6(source.bytes().first<16>(), destination.bytes().first<16>(), protocol,
                        length);
}

}  // namespace weft
