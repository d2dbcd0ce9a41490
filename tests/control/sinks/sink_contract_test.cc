// SPDX-License-Identifier: Apache-2.0
// The sink contract, run against every sink.
#include "tests/contract/sink_contract.h"

#include "control/sinks/dataplane_sink.h"
#include "control/sinks/hns_sink.h"
#include "control/sinks/host_route_sink.h"
#include "dataplane/remote_snapshot.h"
#include "tests/control/sinks/hns_sink_rig.h"
#include "tests/support/fake_host.h"
#include "tests/support/fake_sink.h"
#include "tests/support/packet_builder.h"

namespace weft::testing {
namespace {

std::string Way(const host::Route& route) {
  return "via " + (route.gateway ? route.gateway->ToString() : "nobody") + " on adapter " +
         std::to_string(route.adapter_index);
}

class FakeSinkRig final : public SinkRig {
 public:
  lease::Sink& sink() override { return sink_; }
  std::map<std::string, std::string> InPlace() override {
    std::map<std::string, std::string> ways;
    for (const auto& [subnet, peer] : sink_.entries) ways[subnet.ToString()] = WayTo(peer);
    return ways;
  }
  std::string WayTo(const lease::Peer& peer) override { return Text(peer); }
  void PlantOurs(const lease::Peer& peer) override { sink_.entries.emplace(peer.subnet, peer); }
  void Lose(const IpPrefix& subnet) override { sink_.entries.erase(subnet); }
  std::optional<std::size_t> Touched() override { return static_cast<std::size_t>(sink_.touched); }
  void Fail(const IpPrefix& subnet) override { sink_.failing.insert(subnet); }
  void Heal() override { sink_.failing.clear(); }

 private:
  FakeSink sink_;
};

class DataplaneRig final : public SinkRig {
 public:
  lease::Sink& sink() override { return sink_; }
  std::map<std::string, std::string> InPlace() override {
    std::map<std::string, std::string> ways;
    for (const char* subnet : {"10.244.1.0/24", "10.244.2.0/24", "10.244.3.0/24"}) {
      const dataplane::Remote* remote = table_.snapshot()->Find(Prefix(subnet).base());
      if (remote == nullptr) continue;
      ways[subnet] = remote->vtep.ToString() + " " + remote->mac.ToString();
      const EncapsulationSpec stamped = SpecOf(remote->encapsulation);
      EXPECT_EQ(stamped.outer_destination, remote->vtep);
      EXPECT_EQ(stamped.inner_destination, remote->mac);
    }
    EXPECT_EQ(ways.size(), table_.size());
    return ways;
  }
  std::string WayTo(const lease::Peer& peer) override {
    return peer.public_ip.ToString() + " " + peer.vtep_mac.ToString();
  }
  void PlantOurs(const lease::Peer& peer) override {
    table_.Update(
        std::vector{dataplane::RemoteSpec{peer.node, peer.subnet, peer.public_ip, peer.vtep_mac}},
        {});
  }
  void Lose(const IpPrefix& subnet) override { table_.Update({}, std::vector{subnet}); }
  std::optional<std::size_t> Touched() override { return table_.version(); }

 private:
  dataplane::PeerTable peers_;
  dataplane::RemoteTable table_{
      dataplane::LocalVtep{.outer_source = Address("192.0.2.9"), .mac = Mac("02:00:00:00:00:09")},
      peers_};
  control::DataplaneSink sink_{table_};
};

// Its work runs on another thread: here every answer is waited for.
class HnsRig final : public SinkRig {
 public:
  HnsRig() : sink_(rig_) {
    rig_.Start();
    EXPECT_TRUE(rig_.IsInSync());
  }
  lease::Sink& sink() override { return sink_; }
  std::map<std::string, std::string> InPlace() override {
    std::map<std::string, std::string> ways;
    for (const hns::Policy& policy : rig_.Read().policies) {
      const auto route = hns::ReadRemoteSubnetRoute(policy);
      if (!route) continue;
      const std::string way =
          route->provider_address.ToString() + " " + route->router_mac.ToString();
      EXPECT_TRUE(ways.emplace(route->destination.ToString(), way).second) << "two ways";
    }
    return ways;
  }
  std::string WayTo(const lease::Peer& peer) override {
    return peer.public_ip.ToString() + " " + peer.vtep_mac.ToString();
  }
  // While no sink runs, as after a restart: one that has just read the network would add the route
  // again.
  void PlantOurs(const lease::Peer& peer) override {
    rig_.Stop();
    rig_.Meddle("Add", PolicyOf(peer));
    rig_.Start();
    EXPECT_TRUE(rig_.IsInSync());
  }
  void Lose(const IpPrefix& subnet) override {
    for (const hns::Policy& policy : rig_.Read().policies) {
      const auto route = hns::ReadRemoteSubnetRoute(policy);
      if (route && route->destination == subnet) rig_.Meddle("Remove", policy);
    }
  }
  std::optional<std::size_t> Touched() override {
    return rig_.emulator().calls()["HcnModifyNetwork"];
  }

 private:
  class Waiting final : public lease::Sink {
   public:
    explicit Waiting(HnsSinkRig& rig) : rig_(rig) {}
    std::string name() const override { return rig_.sink().name(); }
    lease::SinkReport Resync(std::span<const lease::Peer> all) override {
      rig_.sink().Resync(all);
      return Answer();
    }
    lease::SinkReport Update(const lease::PeerChanges& changes) override {
      rig_.sink().Update(changes);
      return Answer();
    }
    lease::SinkReport Retry() override {
      rig_.sink().Retry();
      return Answer();
    }

   private:
    lease::SinkReport Answer() {
      EXPECT_TRUE(rig_.Holds());
      return rig_.sink().Report();
    }
    HnsSinkRig& rig_;
  };

  hns::Policy PolicyOf(const lease::Peer& peer) {
    return hns::RemoteSubnetRoutePolicy(
        {peer.subnet, rig_.spec.isolation_id, peer.public_ip, peer.vtep_mac});
  }

  HnsSinkRig rig_;
  Waiting sink_;
};

class TunnelRouteRig final : public SinkRig {
 public:
  lease::Sink& sink() override { return sink_; }
  std::map<std::string, std::string> InPlace() override {
    std::map<std::string, std::string> ways;
    for (const host::Route& route : host_.routes)
      EXPECT_TRUE(ways.emplace(route.destination.ToString(), Way(route)).second) << "two ways";
    return ways;
  }
  // Always into the device: the data plane has the peer's address.
  std::string WayTo(const lease::Peer& peer) override {
    host::Route route;
    route.destination = peer.subnet;
    route.adapter_index = 7;
    return Way(route);
  }
  void PlantOurs(const lease::Peer& peer) override {
    host::Route route;
    route.destination = peer.subnet;
    route.adapter_index = 7;
    route.marked = true;
    host_.routes.push_back(route);
  }
  void Lose(const IpPrefix& subnet) override {
    std::erase_if(host_.routes,
                  [&subnet](const host::Route& route) { return route.destination == subnet; });
  }
  std::optional<std::size_t> Touched() override { return host_.done.size(); }
  void Fail(const IpPrefix& subnet) override { host_.failing.insert(subnet); }
  void Heal() override { host_.failing.clear(); }

 private:
  FakeHost host_;
  control::HostRouteSink sink_{host_,
                               {IpFamily::kV4,
                                {},
                                Prefix("10.244.0.0/16"),
                                control::HostRouteConfig::Device{7, "flannel.4096"},
                                /*direct=*/false}};
};

// eth0 reaches the peers of the suite by 192.0.2.0/24, or only those that a route says.
class HostRouteRig final : public SinkRig {
 public:
  // `adds_next_to`: as Windows does.
  HostRouteRig(bool adds_next_to, bool tunnel) : tunnel_(tunnel) {
    host_.adds_next_to = adds_next_to;
    host::Adapter eth0;
    eth0.index = 2;
    eth0.up = true;
    eth0.addresses = {{Address("192.0.2.9"), 24}};
    host_.adapters = {eth0};
  }
  lease::Sink& sink() override { return sink_; }
  std::map<std::string, std::string> InPlace() override {
    std::map<std::string, std::string> ways;
    for (const host::Route& route : host_.routes)
      EXPECT_TRUE(ways.emplace(route.destination.ToString(), Way(route)).second) << "two ways";
    return ways;
  }
  std::string WayTo(const lease::Peer& peer) override {
    host::Route route;
    route.gateway = peer.public_ip;
    route.adapter_index = 2;
    return Way(route);
  }
  void PlantOurs(const lease::Peer& peer) override {
    host::Route route;
    route.destination = peer.subnet;
    route.gateway = peer.public_ip;
    route.adapter_index = 2;
    route.marked = true;
    host_.routes.push_back(route);
  }
  void Lose(const IpPrefix& subnet) override {
    std::erase_if(host_.routes,
                  [&subnet](const host::Route& route) { return route.destination == subnet; });
  }
  std::optional<std::size_t> Touched() override { return host_.done.size(); }
  void Fail(const IpPrefix& subnet) override { host_.failing.insert(subnet); }
  void Heal() override { host_.failing.clear(); }

 private:
  bool tunnel_;
  FakeHost host_;
  control::HostRouteSink sink_{
      host_,
      {IpFamily::kV4,
       {2, "eth0"},
       Prefix("10.244.0.0/16"),
       tunnel_ ? std::optional(control::HostRouteConfig::Device{7, "flannel.4096"})
               : std::nullopt}};
};

const SinkCase kFake{"fake", [] { return std::make_unique<FakeSinkRig>(); }};
const SinkCase kDataplane{"dataplane", [] { return std::make_unique<DataplaneRig>(); }};
const SinkCase kTunnelRoute{"tunnelroute", [] { return std::make_unique<TunnelRouteRig>(); }};

const SinkCase kHostRoute{"hostroute", [] { return std::make_unique<HostRouteRig>(false, false); }};
const SinkCase kHostRouteNextTo{"hostroutenextto",
                                [] { return std::make_unique<HostRouteRig>(true, false); }};
const SinkCase kDirectRouting{"directrouting",
                              [] { return std::make_unique<HostRouteRig>(false, true); }};

const SinkCase kHns{"Hns", [] { return std::make_unique<HnsRig>(); }};

INSTANTIATE_TEST_SUITE_P(Sinks, SinkContract,
                         ::testing::Values(kFake, kDataplane, kTunnelRoute, kHostRoute,
                                           kHostRouteNextTo, kDirectRouting, kHns),
                         SinkCaseName);
// HNS's refusals are tests/hns's.
// Nothing can be refused in the memory of the data plane.
INSTANTIATE_TEST_SUITE_P(Sinks, FallibleSinkContract,
                         ::testing::Values(kFake, kTunnelRoute, kHostRoute, kHostRouteNextTo,
                                           kDirectRouting),
                         SinkCaseName);

}  // namespace
}  // namespace weft::testing
