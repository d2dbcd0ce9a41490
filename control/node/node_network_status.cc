// SPDX-License-Identifier: Apache-2.0
// What stands, as checks and status tell it.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/node/hns_status.h"
#include "control/node/node_network.h"

namespace weft::node {
namespace {

std::string PendingText(const control::ReconcilerReport& report) {
  std::vector<std::string> pending;
  for (const control::SinkStatus& sink : report.sinks) {
    if (!sink.resynced) pending.push_back(absl::StrCat(sink.name, ": not given anything yet"));
    if (sink.report.more) {
      pending.push_back(absl::StrCat(sink.name, ": ", sink.report.applied, " of ",
                                     sink.report.desired, " in place so far"));
    }
    for (const std::string& item : sink.report.pending)
      pending.push_back(absl::StrCat(sink.name, ": ", item));
  }
  constexpr std::size_t kShown = 3;
  const std::size_t more = pending.size() > kShown ? pending.size() - kShown : 0;
  pending.resize(pending.size() - more);
  return absl::StrCat(absl::StrJoin(pending, "; "),
                      more ? absl::StrCat("; and ", more, " more") : "");
}

// What HNS says of itself is the truth of now, unlike the sinks': a network that is lost makes the
// node unready.
bool Stands(const control::HnsState& state) {
  return state.known && state.outcome.state >= hns::OverlayState::kRoutes;
}

std::string_view StateName(hns::OverlayState state) {
  switch (state) {
    case hns::OverlayState::kHns:
      return "hns";
    case hns::OverlayState::kNetwork:
      return "network";
    case hns::OverlayState::kManagementIp:
      return "management-ip";
    case hns::OverlayState::kRoutes:
      return "routes";
    case hns::OverlayState::kHolds:
      return "holds";
  }
  return "hns";
}

admin::HnsStatus StatusOf(const std::string& network, const control::HnsState& state) {
  admin::HnsStatus status = HnsStatusOf(network, state);
  status.state = StateName(state.outcome.state);
  status.router_mac = state.outcome.dr_mac;
  return status;
}

// "not up yet: cause"
std::string NotYet(std::string_view what, const control::Trouble& trouble) {
  return absl::StrCat(what, trouble.text().empty() ? "" : ": ", trouble.text());
}

}  // namespace

void NodeNetwork::AppendChecks(const control::ReconcilerReport& report,
                               std::vector<admin::Check>& checks) const {
  const std::string& no_interface = interface_trouble_.text();
  checks.push_back({"interface", !interface_.empty() && no_interface.empty(),
                    !no_interface.empty() ? no_interface
                    : !interface_.empty() ? interface_
                                          : "not chosen yet"});
  const bool up = IsComplete() && tunnel_trouble_.text().empty();
  const bool by_routes = setup_ && !setup_->host_routes.empty();
  const std::string have = by_routes       ? "none: peers are reached by host routes"
                           : hns_decides() ? "none: HNS has the network"
                                           : absl::StrCat(tunnels_.size(), " up");
  checks.push_back(
      {"tunnels", up,
       up ? have
          : NotYet(by_routes ? "the host routes wait for HNS" : "not up yet", tunnel_trouble_)});
  if (hns_sink_ && hns_decides()) {
    const control::HnsState state = hns_sink_->State();
    checks.push_back({"hns", Stands(state), StatusOf(hns_sink_->wish().name, state).text});
  }
  if (bridge_ && hns_decides()) checks.push_back({"hns", bridge_->stands(), bridge_->Sentence()});
  checks.push_back({"sinks", was_in_sync_, PendingText(report)});
  const std::string& path = subnet_file_.path();
  const bool written = setup_ && subnet_file_.written() && subnet_file_.Holds(EnvText());
  checks.push_back(
      {"subnet-file", written,
       written ? path : NotYet(absl::StrCat(path, " not written yet"), file_trouble_)});
}

void NodeNetwork::FillStatus(admin::Status& status) const {
  if (setup_) {
    status.interface_name = setup_->underlay.name;
    status.mtu = setup_->env.mtu.octets();
  }
  if (hns_sink_) status.hns = StatusOf(hns_sink_->wish().name, hns_sink_->State());
  if (bridge_) status.hns = bridge_->Status();
  for (const std::unique_ptr<Tunnel>& tunnel : tunnels_) {
    status.tunnels.push_back(tunnel->ReadStatus());
    tunnel->AppendPeers(status.peers);
  }
}

}  // namespace weft::node
