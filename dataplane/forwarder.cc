// SPDX-License-Identifier: Apache-2.0
#include "dataplane/forwarder.h"

#include <algorithm>
#include <array>

#include "dataplane/forwarder_impl.h"

namespace weft::dataplane {

Forwarder::Impl::Impl(const ForwarderConfig& desired, const RemoteTable& table,
                      PeerTable& peer_table, Counters& counts)
    : config(desired),
      own(desired.own_subnets),
      quick(desired.wire == PortKind::kWireDatagram && !own.has_more_v4()),
      usual_headers(desired.local.vni, desired.local.mac, quick ? own.first_v4() : V4Subnet{}),
      remotes(table),
      counters(counts),
      snapshot(table.snapshot()) {
  no_remote.slots = peer_table.slots(kNoPeer);
  no_remote.vtep = IpAddress::V6(std::array<std::byte, 16>{});
  for (const IpFamily outer : {IpFamily::kV4, IpFamily::kV6}) {
    const std::uint32_t overhead = EncapsulationOverhead(outer);
    too_big[overhead] = std::min(config.device_mtu.bytes(), config.link_mtu.bytes() - overhead) + 1;
  }
}

Forwarder::Forwarder(const ForwarderConfig& config, const RemoteTable& remotes, PeerTable& peers,
                     Counters& counters)
    : impl_(std::make_unique<Impl>(config, remotes, peers, counters)) {}

Forwarder::~Forwarder() = default;

void Forwarder::Encapsulate(Batch& batch, Batch& replies) { impl_->Encapsulate(batch, replies); }
void Forwarder::Decapsulate(Batch& batch) { impl_->Decapsulate(batch); }

InnerMtu Forwarder::pod_mtu() const { return impl_->config.pod_mtu; }

void Forwarder::Refresh() {
  if (impl_->snapshot == nullptr || impl_->remotes.version() != impl_->snapshot->version())
    impl_->snapshot = impl_->remotes.snapshot();
}

void Forwarder::Rest() { impl_->snapshot.reset(); }

void Forwarder::LearnPathMtu(const PathMtuNotice& notice, Timestamp now) {
  Impl& impl = *impl_;
  // RFC 791; RFC 8200 section 5.
  const std::uint32_t least = notice.destination.is_v4() ? 68 : 1280;
  const std::uint32_t path_mtu = std::max(notice.outer_mtu, least);
  if (notice.outer_mtu == 0 || path_mtu >= impl.config.link_mtu.bytes()) return;
  std::uint32_t index = impl.snapshot->FirstAtVtep(notice.destination);
  while (index != 0) {
    PeerTable::Slot& slot = impl.SlotOf(*impl.snapshot->At(index));
    const std::uint32_t known = slot.path_mtu.load(std::memory_order_relaxed);
    const bool expired = now.count() >= slot.path_mtu_expiry.load(std::memory_order_relaxed);
    if (known == 0 || expired || path_mtu <= known) {
      slot.path_mtu.store(path_mtu, std::memory_order_relaxed);
      slot.path_mtu_expiry.store((now + kPathMtuLifetime).count(), std::memory_order_relaxed);
    }
    index = impl.snapshot->NextAtVtep(index);
  }
}

std::string_view Name(PeerCheck check) {
  return check == PeerCheck::kStrict ? "strict" : check == PeerCheck::kLease ? "lease" : "off";
}

std::optional<PeerCheck> ParsePeerCheck(std::string_view name) {
  for (const PeerCheck each : {PeerCheck::kStrict, PeerCheck::kLease, PeerCheck::kOff})
    if (name == Name(each)) return each;
  return std::nullopt;
}

}  // namespace weft::dataplane
