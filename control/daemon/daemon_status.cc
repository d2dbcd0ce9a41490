// SPDX-License-Identifier: Apache-2.0
// What the daemon tells of itself: checks, status, leases.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/daemon/daemon.h"
#include "control/daemon/health.h"
#include "control/daemon/service.h"
#include "control/lease/peer_state.h"

namespace weft::daemon {
namespace {

admin::LeaseHalf HalfOf(const lease::LeaseRow& row) {
  admin::LeaseHalf half;
  half.subnet = row.lease.subnet;
  half.public_ip = row.lease.public_ip;
  half.vtep_mac = row.lease.vtep_mac;
  half.vni = row.lease.vni;
  half.state = lease::Name(row.state);
  half.state_sentence = row.detail.empty() ? std::string(lease::Sentence(row.state)) : row.detail;
  half.usable = lease::IsUsable(row.state);
  return half;
}

std::string PendingText(const control::ReconcilerReport& report) {
  std::vector<std::string> pending;
  for (const control::SinkStatus& sink : report.sinks) {
    if (!sink.resynced) pending.push_back(absl::StrCat(sink.name, ": not given anything yet"));
    for (const std::string& item : sink.report.pending)
      pending.push_back(absl::StrCat(sink.name, ": ", item));
  }
  constexpr std::size_t kShown = 3;
  const std::size_t more = pending.size() > kShown ? pending.size() - kShown : 0;
  pending.resize(pending.size() - more);
  return absl::StrCat(absl::StrJoin(pending, "; "),
                      more ? absl::StrCat("; and ", more, " more") : "");
}

}  // namespace

std::vector<admin::Check> Daemon::Checks(const control::ReconcilerReport& report) const {
  std::vector<admin::Check> checks;
  const std::string trouble = report.trouble.value_or("");
  // Trouble after the first truth is told but fails nothing: the data plane keeps what it has.
  checks.push_back({"source", report.source_synced,
                    !trouble.empty() ? trouble
                                     : absl::StrCat(source_.Describe(),
                                                    report.source_synced ? "" : " not read yet")});
  checks.push_back(
      {"own-node", facts_.ok(), facts_.ok() ? "" : std::string(facts_.status().message())});
  const bool chosen = setup_.has_value() && interface_trouble_.empty();
  checks.push_back({"interface", chosen,
                    !interface_trouble_.empty()
                        ? interface_trouble_
                        : (setup_ ? setup_->underlay.name : "not chosen yet")});
  const bool up = setup_ && tunnels_.size() == setup_->tunnels.size() && tunnel_trouble_.empty();
  checks.push_back(
      {"tunnels", up,
       up ? absl::StrCat(tunnels_.size(), " up")
          : absl::StrCat("not up yet", tunnel_trouble_.empty() ? "" : ": ", tunnel_trouble_)});
  checks.push_back({"sinks", was_in_sync_, PendingText(report)});
  const bool written = setup_ && subnet_file_.written() && subnet_file_.Holds(Text(setup_->env));
  checks.push_back({"subnet-file", written,
                    written ? subnet_file_.path()
                            : absl::StrCat(subnet_file_.path(), " not written yet",
                                           file_trouble_.empty() ? "" : ": ", file_trouble_)});
  return checks;
}

admin::Status Daemon::ReadStatus() {
  const control::ReconcilerReport report = reconciler_.report();
  admin::Status status;
  status.version = kVersion;
  status.node = config_.options.node_name;
  status.pid = ProcessId();
  status.started = started_;
  status.backend = control::Name(config_.conf.type);
  status.dataplane = config_.options.dataplane;
  status.checks = Checks(report);
  status.ready = AllOk(status.checks);
  if (setup_) {
    status.interface_name = setup_->underlay.name;
    status.mtu = setup_->env.mtu.octets();
  }
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    if (!config_.conf.enabled(family)) continue;
    admin::OwnFacts own;
    if (facts_.ok() && facts_->of(family)) {
      own.subnet = facts_->of(family)->subnet;
      own.vtep_mac = facts_->of(family)->vtep_mac;
    }
    if (setup_ && setup_->underlay.of(family))
      own.public_ip = setup_->underlay.of(family)->public_ip;
    (family == IpFamily::kV4 ? status.v4 : status.v6) = own;
  }
  status.source = {source_.Describe(), report.source_synced, report.trouble.value_or("")};
  for (std::size_t i = 0; i < lease::kPeerStates; ++i) {
    const auto state = static_cast<lease::PeerState>(i);
    if (const std::size_t count = report.v4[i] + report.v6[i]) {
      status.leases.push_back(
          {std::string(lease::Name(state)), std::string(lease::Sentence(state)), count});
    }
  }
  status.refused_nodes = report.refused.size();
  for (const control::SinkStatus& sink : report.sinks) {
    status.sinks.push_back(
        {sink.name, sink.report.desired, sink.report.applied, sink.report.pending});
  }
  for (const std::unique_ptr<Tunnel>& tunnel : tunnels_) {
    status.tunnels.push_back(tunnel->ReadStatus());
    tunnel->AppendPeers(status.peers);
  }
  return status;
}

admin::LeaseList Daemon::ReadLeases() {
  admin::LeaseList list;
  list.generation = generation();
  list.source = source_.Describe();
  for (const lease::LeaseRow& row : reconciler_.table().Rows()) {
    // The two halves of a node follow each other.
    if (list.leases.empty() || list.leases.back().node != row.node.name ||
        list.leases.back().uid != row.node.uid) {
      list.leases.push_back(
          {row.node.name, row.node.uid, row.backend_type, std::nullopt, std::nullopt});
    }
    (row.family == IpFamily::kV4 ? list.leases.back().v4 : list.leases.back().v6) = HalfOf(row);
  }
  list.refused = reconciler_.table().Refused();
  return list;
}

std::uint64_t Daemon::generation() const { return reconciler_.table().generation(); }

}  // namespace weft::daemon
