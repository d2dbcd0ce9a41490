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

void Append(std::string subject, const Trouble& trouble, std::vector<admin::TroubleStatus>& out) {
  if (trouble.times() > 0) out.push_back({std::move(subject), trouble.text(), trouble.times()});
}

}  // namespace

std::vector<admin::Check> Daemon::Checks(const control::ReconcilerReport& report) const {
  std::vector<admin::Check> checks;
  const std::string trouble = report.trouble.value_or("");
  // Trouble after the first truth is told but fails nothing: the data plane keeps what it has.
  checks.push_back({"source", report.source_synced,
                    !trouble.empty() ? trouble
                                     : absl::StrCat(DescribeSource(),
                                                    report.source_synced ? "" : " not read yet")});
  const std::string nameless = member_ ? member_->name_trouble().text() : "";
  checks.push_back({"own-node", facts_.ok(),
                    facts_.ok()         ? ""
                    : !nameless.empty() ? nameless
                                        : std::string(facts_.status().message())});
  network_.AppendChecks(report, checks);
  if (member_) {
    const std::string& why = member_->publish_trouble().text();
    const bool published = member_->published();
    checks.push_back({"published", published, published || !why.empty() ? why : "not yet"});
  }
  return checks;
}

admin::Status Daemon::ReadStatus() {
  const control::ReconcilerReport report = reconciler_.report();
  admin::Status status;
  status.version = kVersion;
  status.node = node_name_;
  status.pid = ProcessId();
  status.started = started_;
  status.backend = control::Name(config_.conf.type);
  status.dataplane = config_.options.dataplane;
  status.checks = Checks(report);
  status.ready = AllOk(status.checks);
  network_.FillStatus(status);
  const std::optional<Setup>& setup = network_.setup();
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    if (!config_.conf.enabled(family)) continue;
    admin::OwnFacts own;
    if (facts_.ok() && facts_->of(family)) {
      own.subnet = facts_->of(family)->subnet;
      own.vtep_mac = facts_->of(family)->vtep_mac;
      if (network_.hns_decides()) own.vtep_mac = network_.router_mac();
    }
    if (setup && setup->underlay.of(family)) own.public_ip = setup->underlay.of(family)->public_ip;
    (family == IpFamily::kV4 ? status.v4 : status.v6) = own;
  }
  status.source = {DescribeSource(), report.source_synced, report.trouble.value_or("")};
  Append("net-conf", net_conf_trouble_, status.troubles);
  Append("public-ip", network_.public_ip_trouble(), status.troubles);
  Append("hns", network_.hns_trouble(), status.troubles);
  Append("ledger", network_.ledger_trouble(), status.troubles);
  Append("static-routes", network_.upkeep().route_trouble(), status.troubles);
  Append("left-routes", network_.upkeep().left_routes(), status.troubles);
  Append("firewall", network_.upkeep().firewall_trouble(), status.troubles);
  for (const control::SinkStatus& sink : report.sinks) {
    if (sink.refusals_told > 0) {
      status.troubles.push_back(
          {sink.name, absl::StrJoin(sink.report.refused, "; "), sink.refusals_told});
    }
  }
  if (member_) {
    Append("node-name", member_->name_trouble(), status.troubles);
    Append("publish", member_->publish_trouble(), status.troubles);
  }
  const lease::LeaseTable& table = reconciler_.table();
  const lease::StateCounts v4 = table.Counts(IpFamily::kV4);
  const lease::StateCounts v6 = table.Counts(IpFamily::kV6);
  for (std::size_t i = 0; i < lease::kPeerStates; ++i) {
    const auto state = static_cast<lease::PeerState>(i);
    if (const std::size_t count = v4[i] + v6[i]) {
      status.leases.push_back(
          {std::string(lease::Name(state)), std::string(lease::Sentence(state)), count});
    }
  }
  status.refused_nodes = report.refused;
  for (const control::SinkStatus& sink : report.sinks) {
    status.sinks.push_back(
        {sink.name, sink.report.desired, sink.report.applied, sink.report.pending});
  }
  return status;
}

admin::LeaseList Daemon::ReadLeases() {
  admin::LeaseList list;
  list.generation = generation();
  list.source = DescribeSource();
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
