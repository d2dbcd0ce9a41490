// SPDX-License-Identifier: Apache-2.0
// Recognizes the headers of usual received datagrams, by one masked comparison for all fields.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dataplane/own_subnets.h"
#include "dataplane/usual_headers_sse2.h"
#include "vxlan/encapsulation.h"
#include "vxlan/mac_address.h"
#include "vxlan/vni.h"

namespace weft::dataplane {

// VXLAN with our VNI, our MAC as inner destination, IPv4 without options to our subnet and not from
// it. Every such datagram passes Forwarder::Impl::Inspect if its lengths are right.
class UsualHeaders {
 public:
  static constexpr std::size_t kSize =
      EncapsulationTemplate::kPayloadSize + kIpv4HeaderSize;  // bytes

  UsualHeaders(Vni vni, const MacAddress& mac, const V4Subnet& own);

  // `payload` has at least kSize bytes.
  [[gnu::always_inline]] bool Match(const std::byte* payload) const {
    const Words tunnel = (Tunnel(payload) & tunnel_mask_) == tunnel_;
    const Words inner = (Inner(payload) & inner_mask_) == inner_;
    return detail::AllTrue(tunnel & (inner == inner_result_));
  }

 private:
  using Words = detail::Words;
  using TwoWords = std::int64_t __attribute__((vector_size(16)));
  using Pattern = std::array<std::byte, kSize>;

  // VXLAN and the inner destination MAC.
  static Words Tunnel(const std::byte* payload) {
    Words words;
    std::memcpy(&words, payload, sizeof words);
    return words;
  }
  // EtherType and the first bytes of IPv4; source; destination.
  static Words Inner(const std::byte* payload) {
    std::int64_t start;
    std::int64_t addresses;
    std::memcpy(&start, payload + EncapsulationTemplate::kPayloadSize - 2, sizeof start);
    std::memcpy(&addresses, payload + EncapsulationTemplate::kPayloadSize + 12, sizeof addresses);
    return reinterpret_cast<Words>(TwoWords{start, addresses});
  }

  Words tunnel_mask_;
  Words tunnel_;
  Words inner_mask_;
  Words inner_;
  // All but the source are equal. Not constexpr: GCC 12 makes four instructions of one.
  Words inner_result_ = {-1, -1, 0, -1};
};

}  // namespace weft::dataplane
