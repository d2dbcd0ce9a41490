// SPDX-License-Identifier: Apache-2.0
#include "control/backend/userspace/tunnel.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "control/backend/userspace/pod_device.h"
#include "control/backend/userspace/superframes.h"
#include "control/clock.h"
#include "control/sinks/dataplane_sink.h"
#include "dataplane/edge/edge.h"
#include "dataplane/ports/pcap_port.h"
#include "dataplane/ports/udp_port.h"
#include "dataplane/worker.h"

namespace weft::backend {
namespace {

constexpr auto kNotePeriod = std::chrono::seconds(5);  // between readings of what peers sent

std::string_view FamilyWord(IpFamily family) { return family == IpFamily::kV4 ? "ipv4" : "ipv6"; }

dataplane::LocalVtep LocalVtepOf(const TunnelConfig& config) {
  return {config.bind_address, config.vtep_mac, config.vni, config.port, config.udp_checksum};
}

dataplane::ForwarderConfig ForwarderConfigOf(const TunnelConfig& config, std::size_t worker) {
  dataplane::ForwarderConfig out;
  out.worker = worker;
  out.local = LocalVtepOf(config);
  out.own_subnets = {config.subnet};
  out.own_addresses = {config.subnet.base()};
  out.link_mtu = config.link_mtu;
  out.device_mtu = config.mtu;
  out.pod_mtu = config.pod_mtu;
  out.peer_check = config.peer_check;
  out.max_udp_segments = dataplane::MaxUdpSegments();
  out.wire = dataplane::PortKind::kWireDatagram;
  return out;
}

dataplane::EdgeOptions EdgeOptionsOf(const TunnelConfig& config) {
  dataplane::EdgeOptions out;
  out.mac = config.vtep_mac;
  out.gateways = {config.gateway()};
  out.pod_subnets = {config.subnet};
  if (config.pod_device.kind == config::PodDevice::Kind::kPcap)
    out.unmarked_offloads = config.pod_mtu;
  return out;
}

absl::StatusOr<PodPorts> OpenPods(const TunnelConfig& config) {
  using Kind = config::PodDevice::Kind;
  absl::StatusOr<std::unique_ptr<dataplane::PacketPort>> frames;
  switch (config.pod_device.kind) {
    case Kind::kTun:
      return OpenTunDevice(config.device, config.workers);
    case Kind::kTap:
      frames = OpenTapDevice(config.device);
      break;
    case Kind::kPcap:
      const absl::StatusOr<const dataplane::PcapLibrary*> library = dataplane::PcapLibrary::Load();
      if (!library.ok()) return library.status();
      frames = dataplane::PcapPort::Open(
          **library, {config.pod_device.adapter, config.vtep_mac, config.family});
      break;
  }
  if (!frames.ok()) return frames.status();
  PodPorts ports;
  ports.push_back(std::make_unique<dataplane::Edge>(*std::move(frames), EdgeOptionsOf(config)));
  return ports;
}

dataplane::TracedPorts TracePorts(dataplane::TracedPorts ports,
                                  std::shared_ptr<dataplane::TraceFile> trace,
                                  const TunnelConfig& config) {
  using std::chrono::steady_clock;
  using std::chrono::system_clock;
  const dataplane::Timestamp epoch =
      system_clock::now().time_since_epoch() - steady_clock::now().time_since_epoch();
  return dataplane::Trace(std::move(ports), std::move(trace), config.device,
                          absl::StrCat("UDP port ", config.port), epoch);
}

// Our device: up, with MTU and, if it is a TUN device, its address. Returns the device's index.
absl::StatusOr<std::uint32_t> PrepareDevice(const TunnelConfig& config, host::Host& host) {
  const absl::StatusOr<std::vector<host::Adapter>> adapters = host.Adapters();
  if (!adapters.ok()) return adapters.status();
  const auto device =
      std::find_if(adapters->begin(), adapters->end(),
                   [&](const host::Adapter& adapter) { return adapter.name == config.device; });
  if (device == adapters->end())
    return absl::NotFoundError(
        absl::StrCat("device ", config.device, " disappeared after it was created"));
  using Kind = config::PodDevice::Kind;
  if (config.pod_device.kind == Kind::kPcap) {
    if (device->mtu >= config.pod_mtu.bytes()) return device->index;
    return absl::UnavailableError(absl::StrCat("adapter ", config.device, " has MTU ", device->mtu,
                                               ", less than the pods' ", config.pod_mtu.bytes(),
                                               "; raise it"));
  }
  if (absl::Status status = host.SetLinkUp(device->index, config.mtu.bytes()); !status.ok())
    return status;
  if (config.pod_device.kind == Kind::kTap) return device->index;
  const host::AssignedAddress address{config.subnet.base(), config.subnet.base().bits()};
  if (absl::Status status = host.AddAddress(device->index, address); !status.ok()) return status;
  return device->index;
}

std::int64_t UnixSecondsAt(dataplane::Timestamp at) {
  return control::UnixSecondsAt(control::TimePoint(at));
}

admin::DropExample ExampleOf(const dataplane::DropSample& sample) {
  return {UnixSecondsAt(sample.at),
          sample.outer,
          "",
          sample.vni,
          sample.source_mac,
          sample.destination_mac,
          sample.source,
          sample.destination};
}

admin::DirectionStatus DirectionOf(const dataplane::DirectionCounts& counts,
                                   const dataplane::DropSamples& samples) {
  admin::DirectionStatus out;
  out.bytes = counts.bytes;
  for (std::size_t i = 0; i < dataplane::kVerdictCount; ++i) {
    const auto verdict = static_cast<dataplane::Verdict>(i);
    admin::VerdictCount& count = out.packets.emplace_back(
        admin::VerdictCount{std::string(dataplane::Name(verdict)),
                            std::string(dataplane::Sentence(verdict)), counts.packets[i]});
    if (const auto sample = samples.Read(verdict)) count.example = ExampleOf(*sample);
  }
  return out;
}

void AddCounts(const std::vector<dataplane::NamedCount>& counts,
               std::vector<admin::KernelCount>& sums) {
  for (const dataplane::NamedCount& count : counts) {
    const auto sum = std::find_if(sums.begin(), sums.end(),
                                  [&](const auto& each) { return each.name == count.name; });
    if (sum != sums.end())
      sum->value += count.value;
    else
      sums.push_back({std::string(count.name), count.value});
  }
}

}  // namespace

struct Tunnel::Parts {
  Parts(const TunnelConfig& config, std::shared_ptr<dataplane::Counters> shared_counters)
      : counts(std::move(shared_counters)),
        peers(static_cast<std::size_t>(config.workers)),
        remotes(LocalVtepOf(config), peers),
        table_sink(remotes, config.family, absl::StrCat("dataplane ", config.device)) {}

  // What belongs to one thread.
  struct OfWorker {
    OfWorker(const TunnelConfig& config, Parts& parts, dataplane::TracedPorts ports,
             std::size_t number)
        : wire(std::move(ports.wire)),
          pods(std::move(ports.pods)),
          forwarder(ForwarderConfigOf(config, number), parts.remotes, parts.peers, *parts.counts),
          worker(*pods, *wire, forwarder, *parts.counts, config.busy_poll, parts.segment_sizes) {}

    std::unique_ptr<dataplane::PacketPort> wire;
    std::unique_ptr<dataplane::PacketPort> pods;
    dataplane::Forwarder forwarder;
    dataplane::Worker worker;
  };

  const std::shared_ptr<dataplane::Counters> counts;
  const std::shared_ptr<dataplane::SegmentSizes> segment_sizes =
      std::make_shared<dataplane::SegmentSizes>();
  dataplane::PeerTable peers;
  dataplane::RemoteTable remotes;
  control::DataplaneSink table_sink;
  std::uint32_t adapter_index = 0;
  std::optional<std::uint64_t> overflows_before, overflows;  // of the host; last read
  std::unique_ptr<Superframes> superframes;                  // null: they are cut
  std::vector<std::unique_ptr<OfWorker>> workers;
  std::vector<std::jthread> threads;
};

Tunnel::Tunnel(const TunnelConfig& config) : config_(config) {}
Tunnel::~Tunnel() = default;

absl::StatusOr<std::unique_ptr<Tunnel>> Tunnel::Open(
    const TunnelConfig& config, host::Host& host, std::shared_ptr<dataplane::Counters> counters,
    std::shared_ptr<dataplane::TraceFile> trace,
    std::function<void(const absl::Status&)> on_broken) {
  dataplane::UdpOptions udp;
  udp.family = config.family;
  udp.bind_address = config.bind_address;
  udp.receive_on_all = config.receive_on_all;
  udp.port = config.port;
  udp.udp_checksum = config.udp_checksum;
  const auto overflows = HostOverflows(config.family);
  std::unique_ptr<Superframes> superframes;
  if (config.whole_egress != 0)
    superframes = OpenSuperframes(config.family, config.vni, config.whole_egress);
  if (superframes) udp.tunnel_gso = superframes->gso();
  auto wires = dataplane::UdpPort::OpenAll(udp, static_cast<std::size_t>(config.workers));
  if (!wires.ok()) return wires.status();
  absl::StatusOr<PodPorts> pods = OpenPods(config);
  if (!pods.ok()) return pods.status();

  std::unique_ptr<Tunnel> tunnel(new Tunnel(config));
  tunnel->parts_ = std::make_unique<Parts>(config, std::move(counters));
  Parts& parts = *tunnel->parts_;
  for (std::size_t i = 0; i < wires->size(); ++i) {
    dataplane::TracedPorts ports{std::move((*pods)[i]), std::move((*wires)[i])};
    if (trace) ports = TracePorts(std::move(ports), trace, config);
    parts.workers.push_back(std::make_unique<Parts::OfWorker>(config, parts, std::move(ports), i));
  }
  const absl::StatusOr<std::uint32_t> index = PrepareDevice(config, host);
  if (!index.ok()) return index.status();
  parts.adapter_index = *index;
  parts.overflows_before = parts.overflows = overflows;
  parts.superframes = std::move(superframes);
  if (parts.superframes) parts.superframes->Poll();
  for (const auto& each : parts.workers) {
    parts.threads.emplace_back([&worker = each->worker, on_broken](std::stop_token stop) {
      const absl::Status status = worker.Run(stop);
      if (!stop.stop_requested()) on_broken(status);
    });
  }
  return tunnel;
}

std::uint32_t Tunnel::adapter_index() const { return parts_->adapter_index; }

lease::Sink& Tunnel::sink() const { return parts_->table_sink; }

void Tunnel::Poll(control::TimePoint now) {
  if (parts_->superframes) parts_->superframes->Poll();
  if (now < next_note_) return;
  next_note_ = now + kNotePeriod;
  parts_->peers.NoteReceived(now);
}

void Tunnel::RoutesChanged() {
  if (parts_->superframes) parts_->superframes->RoutesChanged();
}

bool Tunnel::IsIntact(const std::vector<host::Adapter>& adapters) const {
  for (const host::Adapter& adapter : adapters) {
    if (adapter.index != parts_->adapter_index) continue;
    using Kind = config::PodDevice::Kind;
    const Kind kind = config_.pod_device.kind;
    if (kind == Kind::kPcap)
      return adapter.up && adapter.name == config_.device && adapter.mtu >= config_.pod_mtu.bytes();
    const bool addressed =
        kind == Kind::kTap ||
        std::any_of(adapter.addresses.begin(), adapter.addresses.end(),
                    [&](const auto& a) { return a.address == config_.subnet.base(); });
    return adapter.up && adapter.mtu == config_.mtu.bytes() && addressed;
  }
  return false;
}

admin::TunnelStatus Tunnel::ReadStatus() const {
  admin::TunnelStatus status;
  status.device = config_.device;
  status.family = FamilyWord(config_.family);
  status.vni = config_.vni.value();
  status.port = config_.port;
  status.mtu = config_.mtu.bytes();
  const dataplane::CounterValues counters = parts_->counts->Read();
  status.to_wire = DirectionOf(counters.to_wire, parts_->counts->to_wire.samples);
  status.to_pods = DirectionOf(counters.to_pods, parts_->counts->to_pods.samples);
  status.icmp_errors = counters.icmp_errors_sent;
  status.superframes = parts_->superframes ? parts_->superframes->Way() : "cut";
  if (parts_->superframes) status.superframes_whole = parts_->superframes->Sent();
  status.peer_check = dataplane::Name(config_.peer_check);
  if (config_.peer_check == dataplane::PeerCheck::kLease)
    status.strict_would_drop = counters.strict_would_drop;
  status.workers = static_cast<std::uint32_t>(parts_->workers.size());
  for (const auto& each : parts_->workers) {
    AddCounts(each->wire->Counts(), status.kernel);
    AddCounts(each->pods->Counts(), status.kernel);
  }
  // The kernel counts datagrams with wrong checksums at their socket, too.
  if (const auto now = HostOverflows(config_.family)) parts_->overflows = now;
  for (admin::KernelCount& each : status.kernel) {
    if (each.name == "socket-overflow" && parts_->overflows_before)
      each.value = std::min(each.value, *parts_->overflows - *parts_->overflows_before);
  }
  AddCounts(KernelCounts(config_.device, config_.family), status.kernel);
  return status;
}

std::map<IpAddress, admin::IcmpErrors> Tunnel::IcmpErrors() const {
  std::map<IpAddress, admin::IcmpErrors> all;
  for (const auto& each : parts_->workers) {
    for (const dataplane::IcmpErrors& errors : each->wire->Errors()) {
      admin::IcmpErrors& sum = all[errors.destination];
      const std::int64_t at = UnixSecondsAt(errors.at);
      const std::uint64_t count = sum.count + errors.count;
      if (at >= sum.at) sum = {0, errors.type, errors.code, errors.from, at};
      sum.count = count;
    }
  }
  return all;
}

void Tunnel::AppendPeers(std::vector<admin::PeerStatus>& out, control::TimePoint now) const {
  parts_->peers.NoteReceived(now);
  for (const dataplane::PeerTable::Row& row : parts_->peers.Read()) {
    const dataplane::PeerCounts& counts = row.counts;
    admin::PeerStatus peer;
    peer.node = row.name;
    peer.device = config_.device;
    peer.sent_packets = counts.sent_packets;
    peer.sent_bytes = counts.sent_bytes;
    peer.received_packets = counts.received_packets;
    peer.received_bytes = counts.received_bytes;
    peer.heard = row.heard;
    if (counts.path_mtu != 0) peer.path_mtu = counts.path_mtu;
    if (counts.fragmentable_packets != 0) peer.sent_without_df = counts.fragmentable_packets;
    if (counts.other_source_packets != 0) {
      peer.other_source = counts.other_source;
      peer.other_source_packets = counts.other_source_packets;
    }
    out.push_back(std::move(peer));
  }
}

}  // namespace weft::backend
