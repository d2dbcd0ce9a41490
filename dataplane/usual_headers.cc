// SPDX-License-Identifier: Apache-2.0
#include "dataplane/usual_headers.h"

#include <algorithm>

#include "vxlan/bytes.h"
#include "vxlan/vxlan_header.h"

namespace weft::dataplane {

UsualHeaders::UsualHeaders(Vni vni, const MacAddress& mac, const V4Subnet& own) {
  constexpr std::size_t kIp = EncapsulationTemplate::kPayloadSize;
  constexpr std::byte kAll{0xff};
  // What a peer sends us.
  EncapsulationSpec peer;
  peer.vni = vni;
  peer.inner_destination = mac;
  Pattern value{};
  EncapsulationTemplate(peer).StampPayload(value.data(), EtherType::kIpv4);
  Store8(value.data() + kIp, 0x45);  // version, IHL
  StoreBe32(value.data() + kIp + 12, own.base);
  StoreBe32(value.data() + kIp + 16, own.base);

  Pattern mask{};
  Store8(mask.data(), VxlanHeader::kFlagVni);
  std::fill_n(mask.begin() + 4, 3, kAll);
  std::fill_n(mask.begin() + VxlanHeader::kSize, MacAddress::kSize, kAll);
  std::fill_n(mask.begin() + kIp - 2, 3, kAll);  // EtherType, version, IHL
  StoreBe32(mask.data() + kIp + 12, own.mask);
  StoreBe32(mask.data() + kIp + 16, own.mask);

  tunnel_mask_ = Tunnel(mask.data());
  tunnel_ = Tunnel(value.data());
  inner_mask_ = Inner(mask.data());
  inner_ = Inner(value.data());
}

}  // namespace weft::dataplane
