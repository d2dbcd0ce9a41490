// SPDX-License-Identifier: Apache-2.0
// What this host does with packets of its own on their way out, besides routing them: nf_tables and
// iptables-legacy rules, IPsec (xfrm) and routing rules. Packets sent through TunnelGso pass none
// of it, so it is found out first whether any of it could concern them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/host/nftables_linux.h"
#include "vxlan/ip_address.h"
#include "vxlan/ip_prefix.h"

namespace weft::host {

// Outgoing UDP packets of this host: mark 0, from a dynamic port, to other nodes.
struct OutputPackets {
  IpFamily family = IpFamily::kV4;
  IpAddress source;  // unspecified: not known
  std::uint16_t destination_port = 0;
  std::string egress;                      // name of the device they leave by
  std::vector<IpPrefix> other_networks{};  // that contain no node: the pods'
};

// The first rule that may do more to `packets` than accept them, by name and the next step; empty:
// none. "May" is meant strictly: what a rule compares with and is not known here counts as equal,
// and every expression and target that is not known to be harmless counts as harmful. Blocking; any
// thread. The error: it could not be found out.
absl::StatusOr<std::string> FindOutputRule(const OutputPackets& packets);

// The same of nf_tables, for rules from any source: `chains` has every chain, `rules` returns those
// of one.
using RulesOfChain = std::function<absl::StatusOr<std::vector<NftRule>>(const NftChainInfo&)>;
absl::StatusOr<std::string> FindNftOutputRule(const OutputPackets& packets,
                                              const std::vector<NftChainInfo>& chains,
                                              const RulesOfChain& rules);

// Calls `judged` on a thread of its own, at first and after each change of what FindOutputRule
// reads, with its result; `changed` before it reads again. Calls `routed` after each change of
// routes, addresses or links. The destructor waits for a call in progress.
class OutputWatch {
 public:
  struct Handlers {
    std::function<void()> changed;
    std::function<void(const std::string& obstacle)> judged;
    std::function<void()> routed;
  };
  static absl::StatusOr<std::unique_ptr<OutputWatch>> Open(OutputPackets packets,
                                                           Handlers handlers);
  ~OutputWatch();
  OutputWatch(const OutputWatch&) = delete;
  OutputWatch& operator=(const OutputWatch&) = delete;

 private:
  OutputWatch(OutputPackets packets, Handlers handlers);
  absl::Status Listen();
  void Run();
  void Judge();

  const OutputPackets packets_;
  const Handlers handlers_;
  int stop_ = -1;    // eventfd
  int routes_ = -1;  // sockets that receive the kernel's reports
  std::vector<int> rules_;
  std::string legacy_;  // iptables-legacy's tables when last judged
  std::thread thread_;
};

}  // namespace weft::host
