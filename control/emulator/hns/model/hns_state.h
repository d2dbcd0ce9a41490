// SPDX-License-Identifier: Apache-2.0
// The state of HNS: objects in terms of schema 2, from which both views are made.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "control/emulator/hns/model/clock.h"
#include "control/emulator/hns/model/document.h"
#include "control/emulator/hns/model/policy_list.h"
#include "hns/document/guid.h"
#include "vxlan/ip_prefix.h"

namespace weft::hns::emulator {

struct NetworkObject {
  Guid id;
  std::string name;
  std::string type;  // one of NetworkTypes()
  std::uint32_t flags = 0;
  Json dns = Json::object();
  Json ipams = Json::array();
  PolicyList policies;              // as sent; without those that HNS itself adds
  std::string dr_mac;               // of an overlay, dashes and upper case
  Milliseconds dr_mac_from{0};      // when it becomes visible
  std::string mac_block;            // "00-15-5D-3A-7": the pool is its 4,096 addresses
  std::string adapter;              // physical; empty if no external switch is needed
  bool adapter_named = false;       // by the client
  Milliseconds management_from{0};  // when its management IP becomes visible
  std::string first_management_ip;
  Milliseconds link_local_until{0};  // its management IP is one of 169.254/16
  bool unbound = false;              // bound to an adapter id that does not exist any more
  std::uint64_t endpoints_made = 0;
};

struct EndpointObject {
  Guid id;
  Guid network;
  std::string name;
  struct Address {
    std::string ip;
    std::uint32_t prefix_length = 0;  // 0: unknown
  };
  std::vector<Address> addresses;
  std::string mac;  // as sent
  std::uint32_t flags = 0;
  Json dns = Json::object();
  Json routes = Json::array();
  PolicyList policies;
  Guid compartment_namespace;     // zero: none
  bool attached = false;          // to the host or, in v1, to a container
  std::uint32_t compartment = 0;  // of the host, when attached to it
  bool stale = false;             // attached, but the host has no interface for it
  bool detached = false;          // was detached, and not attached since
  bool is_remote() const { return (flags & 1u) != 0; }
};

struct NamespaceObject {
  Guid id;
  std::string type;  // empty: Host
  std::uint32_t compartment = 0;
  std::vector<Guid> endpoints;
  std::vector<std::string> containers;
};

struct LoadBalancerObject {
  Guid id;
  std::vector<Guid> endpoints;
  Json document = Json::object();  // SourceVIP, FrontendVIPs, PortMappings, Flags
};

struct HnsState {
  bool running = true;
  Milliseconds back_at{0};  // when a stopped service restarts by itself; zero: never
  std::uint64_t lives = 0;  // how often the service was stopped
  std::uint64_t drawn = 0;  // random numbers drawn so far, for ids and MACs
  std::map<Guid, NetworkObject> networks;
  std::map<Guid, EndpointObject> endpoints;
  std::map<Guid, NamespaceObject> namespaces;
  std::map<Guid, LoadBalancerObject> load_balancers;
  std::set<std::string, std::less<>> switches;  // adapters with a switch of HNS
  static constexpr Milliseconds kForever = Milliseconds::max();
  std::map<std::string, Milliseconds, std::less<>> taken_names;  // until when
  Milliseconds settled{0};                                       // after the last delete
};

// A subnet of a network, parsed.
struct SubnetFacts {
  IpPrefix prefix;
  std::optional<IpAddress> gateway;
  std::optional<std::uint32_t> vsid;
  bool gateway_reserved = true;
};
std::vector<SubnetFacts> SubnetsOf(const Json& ipams);

}  // namespace weft::hns::emulator
