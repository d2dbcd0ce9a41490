// SPDX-License-Identifier: Apache-2.0
// What stands, as checks and status tell it.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/daemon/node_network.h"

namespace weft::daemon {
namespace {

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

// "not up yet: cause"
std::string NotYet(std::string_view what, const Trouble& trouble) {
  return absl::StrCat(what, trouble.text().empty() ? "" : ": ", trouble.text());
}

}  // namespace

void NodeNetwork::AppendChecks(const control::ReconcilerReport& report,
                               std::vector<admin::Check>& checks) const {
  const std::string& no_interface = interface_trouble_.text();
  checks.push_back({"interface", setup_ && no_interface.empty(),
                    !no_interface.empty() ? no_interface
                    : setup_              ? setup_->underlay.name
                                          : "not chosen yet"});
  const bool up = IsComplete() && tunnel_trouble_.text().empty();
  const std::string have = host_routes_.empty() ? absl::StrCat(tunnels_.size(), " up")
                                                : "none: peers are reached by host routes";
  checks.push_back({"tunnels", up, up ? have : NotYet("not up yet", tunnel_trouble_)});
  checks.push_back({"sinks", was_in_sync_, PendingText(report)});
  const std::string& path = subnet_file_.path();
  const bool written = setup_ && subnet_file_.written() && subnet_file_.Holds(Text(setup_->env));
  checks.push_back(
      {"subnet-file", written,
       written ? path : NotYet(absl::StrCat(path, " not written yet"), file_trouble_)});
}

void NodeNetwork::FillStatus(admin::Status& status) const {
  if (setup_) {
    status.interface_name = setup_->underlay.name;
    status.mtu = setup_->env.mtu.octets();
  }
  for (const std::unique_ptr<Tunnel>& tunnel : tunnels_) {
    status.tunnels.push_back(tunnel->ReadStatus());
    tunnel->AppendPeers(status.peers);
  }
}

}  // namespace weft::daemon
