// SPDX-License-Identifier: Apache-2.0
#include "tests/control/admin/samples.h"

#include "control/lease/peer_state.h"

namespace weft::admin {
namespace {

using lease::PeerState;

LeaseHalf Half(std::string_view subnet, std::string_view public_ip, std::string_view mac,
               PeerState state) {
  return {.subnet = *IpPrefix::Parse(subnet),
          .public_ip = IpAddress::Parse(public_ip),
          .vtep_mac = MacAddress::Parse(mac),
          .vni = 4096,
          .state = std::string(Name(state)),
          .state_sentence = std::string(Sentence(state)),
          .usable = IsUsable(state)};
}

LeaseCount Count(PeerState state, std::uint64_t count) {
  return {std::string(Name(state)), std::string(Sentence(state)), count};
}

}  // namespace

LeaseList SampleLeases() {
  LeaseList list;
  list.generation = 7;
  list.source = "kubernetes https://10.96.0.1:443";
  list.leases = {
      {.node = "linux-1",
       .uid = "0b6f7a52-5d2e-4d7b-9d8b-2f6f6a1d0001",
       .backend_type = "vxlan",
       .v4 = Half("10.244.1.0/24", "192.0.2.1", "5e:00:00:00:00:01", PeerState::kUsable),
       .v6 = Half("fd00:244:1::/64", "2001:db8::1", "5e:00:00:00:06:01", PeerState::kUsable)},
      {.node = "linux-2",
       .uid = "0b6f7a52-5d2e-4d7b-9d8b-2f6f6a1d0002",
       .backend_type = "vxlan",
       .v4 = Half("10.244.2.0/24", "192.0.2.2", "", PeerState::kMissingMac),
       .v6 = {}},
      {.node = "linux-3-with-a-long-name.example.internal",
       .uid = "0b6f7a52-5d2e-4d7b-9d8b-2f6f6a1d0003",
       .backend_type = "host-gw",
       .v4 = Half("10.244.30.0/24", "192.0.2.3", "", PeerState::kForeignBackend),
       .v6 = {}},
      {.node = "win-1",
       .uid = "",
       .backend_type = "vxlan",
       .v4 = Half("10.244.4.0/24", "192.0.2.4", "00:15:5d:00:00:04", PeerState::kSelf),
       .v6 = {}},
      {.node = "win-2",
       .uid = "0b6f7a52-5d2e-4d7b-9d8b-2f6f6a1d0005",
       .backend_type = "vxlan",
       .v4 = Half("10.244.5.0/24", "192.0.2.5", "00:15:5d:00:00:05", PeerState::kDuplicatePublicIp),
       .v6 = {}},
  };
  list.leases[2].v4->vni.reset();
  list.refused = {{"broken-1", "spec.podCIDR \"10.244.300.0/24\" is not an address block"}};
  return list;
}

Status SampleStatus() {
  Status status;
  status.version = "0.1.0";
  status.node = "win-1";
  status.pid = 4711;
  status.started = 1'795'046'400;  // 2026-11-19T00:00:00Z
  status.backend = "vxlan";
  status.dataplane = "userspace";
  status.ready = true;
  status.checks = {{"source", true, "in sync"},
                   {"subnet.env", true, "written to /run/flannel/subnet.env"},
                   {"dataplane", true, "first snapshot is in place"}};
  status.interface_name = "eth0";
  status.mtu = 1450;
  status.v4 = {.subnet = IpPrefix::Parse("10.244.4.0/24"),
               .public_ip = IpAddress::Parse("192.0.2.4"),
               .vtep_mac = MacAddress::Parse("00:15:5d:00:00:04")};
  status.v6 = {.subnet = IpPrefix::Parse("fd00:244:4::/64"), .public_ip = {}, .vtep_mac = {}};
  status.source_vip = IpAddress::Parse("10.244.4.2");
  status.source = {
      .description = "kubernetes https://10.96.0.1:443", .in_sync = true, .condition = ""};
  status.source.servers = {
      {.server = "https://10.96.0.1:443 (in-cluster)",
       .in_use = false,
       .text = "failed: no connection within 10 s; check that the API server runs and that no "
               "firewall blocks it"},
      {.server = "https://192.0.2.1:6443 (in-cluster)",
       .in_use = true,
       .text = "in use, taken over from https://10.96.0.1:443 (in-cluster)"}};
  status.leases = {Count(PeerState::kUsable, 2), Count(PeerState::kSelf, 1),
                   Count(PeerState::kDuplicatePublicIp, 1), Count(PeerState::kMissingMac, 1),
                   Count(PeerState::kForeignBackend, 1)};
  status.refused_nodes = 1;
  status.sinks = {{.name = "dataplane", .desired = 3, .applied = 3, .pending = {}}};
  TunnelStatus tunnel;
  tunnel.device = "flannel.4096";
  tunnel.family = "ipv4";
  tunnel.vni = 4096;
  tunnel.port = 4789;
  tunnel.mtu = 1450;
  tunnel.to_wire = {.bytes = 123'456'789,
                    .packets = {{"forward", "the packet goes on", 100'000},
                                {"no-route", "no lease covers the destination", 12},
                                {"too-big", "the packet exceeds the path's inner MTU", 0}}};
  tunnel.to_pods = {.bytes = 98'765,
                    .packets = {{"forward", "the packet goes on", 900},
                                {"foreign-vni", "the VNI is not ours", 3}}};
  tunnel.icmp_errors = 2;
  tunnel.kernel = {{"socket-overflow", 5}, {"tun-dropped", 0}};
  status.tunnels = {tunnel};
  status.hns = {.network = "flannel.4096",
                .state = "in-sync",
                .text = "every peer has its route",
                .id = "55fedb88-4b11-4da4-8cd1-59970718a804",
                .management_ip = IpAddress::Parse("192.0.2.4"),
                .router_mac = MacAddress::Parse("00:15:5d:c2:00:bf"),
                .calls = 17,
                .modifying_calls = 3,
                .notes = {"this HNS (9.1) has no HostRoute: the node does not reach its own pods"}};
  status.peers = {{.node = "linux-1",
                   .device = "flannel.4096",
                   .sent_packets = 99'000,
                   .sent_bytes = 120'000'000,
                   .received_packets = 850,
                   .received_bytes = 90'000,
                   .path_mtu = 1400},
                  {.node = "win-2",
                   .device = "flannel.4096",
                   .sent_packets = 1'000,
                   .sent_bytes = 3'456'789,
                   .received_packets = 50,
                   .received_bytes = 8'765,
                   .path_mtu = {}}};
  return status;
}

Plan SamplePlan() {
  return {.network = "flannel.4096",
          .refused = "",
          .differences = {"the route to 10.244.1.0/24 is missing"},
          .calls = {{"delete the network flannel.4096", ""},
                    {"add 1 remote subnet to the network flannel.4096",
                     R"({"ResourceType":"Policy","RequestType":"Add"})"}},
          .repaired = false,
          .left = {}};
}

Status DegradedStatus() {
  Status status = SampleStatus();
  status.ready = false;
  status.checks[2] = {"dataplane", false,
                      "1 of 3 peers is pending; see `pending` and flanneld's log"};
  status.source.condition = "cannot reach 10.96.0.1:443: connection refused; check kube-proxy";
  status.conditions = {{.subject = "net-conf",
                        .condition = "net-conf /etc/net-conf.json: Network: 7 is not a string",
                        .times = 2}};
  status.sinks = {{.name = "dataplane",
                   .desired = 3,
                   .applied = 2,
                   .pending = {"peer win-2 (10.244.5.0/24): no route to 192.0.2.5; add one"}}};
  return status;
}

}  // namespace weft::admin
