// SPDX-License-Identifier: Apache-2.0
// Checks, conditions and status.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/node/node_network.h"

namespace weft::node {
namespace {

std::string PendingText(const control::ReconcilerReport& report) {
  std::vector<std::string> pending;
  for (const control::SinkStatus& sink : report.sinks) {
    if (!sink.resynced)
      pending.push_back(absl::StrCat(sink.name, ": has received no snapshot yet"));
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

// "not up yet: cause"
std::string NotYet(std::string_view what, const control::Condition& condition) {
  return absl::StrCat(what, condition.text().empty() ? "" : ": ", condition.text());
}

}  // namespace

void NodeNetwork::AppendChecks(const control::ReconcilerReport& report,
                               std::vector<admin::Check>& checks) const {
  const std::string& none = interface_condition_.text();
  // For a moment a lost link is shown, and fails nothing.
  checks.push_back({"interface",
                    !interface_.empty() && none.empty() && link_condition_.text().empty(),
                    !none.empty()         ? none
                    : !no_link_.empty()   ? no_link_
                    : !interface_.empty() ? interface_
                                          : "not chosen yet"});
  const bool up = IsComplete() && backend_condition_.text().empty();
  std::string tunnels;
  for (const auto& backend : backends_) absl::StrAppend(&tunnels, backend->TunnelsText(up));
  if (tunnels.empty()) tunnels = up ? "0 up" : "not up yet";
  checks.push_back({"tunnels", up, up ? tunnels : NotYet(tunnels, backend_condition_)});
  for (const auto& backend : backends_) backend->AppendChecks(checks);
  checks.push_back({"sinks", was_in_sync_, PendingText(report)});
  const std::string& path = subnet_file_.path();
  const bool written = plan_ && subnet_file_.written() && subnet_file_.Matches(Text(Env()));
  const bool kept = kept_file_ && subnet_file_.IsOf(*kept_file_);
  checks.push_back({"subnet-file", written || kept,
                    written || kept ? path
                                    : NotYet(absl::StrCat(path, subnet_file_.written()
                                                                    ? " is not as flanneld wrote it"
                                                                    : " not written yet"),
                                             file_condition_)});
}

void NodeNetwork::AppendConditions(std::vector<backend::NamedCondition>& out) const {
  out.push_back({"subnet-file", file_condition_});
  out.push_back({"subnet-file", taken_condition_});
  out.push_back({"subnet-file", subnet_file_.foreign()});
  out.push_back({"source-vip", source_vip_.condition()});
  out.push_back({"source-vip", source_vip_.file_condition()});
  out.push_back({"public-ip", public_ip_condition_});
  out.push_back({"interface", link_condition_});
  out.push_back({"mtu", mtu_condition_});
  out.push_back({"masquerade", pod_rules_.masquerade_condition()});
  out.push_back({"forward-rules", pod_rules_.forward_condition()});
  out.push_back({"ledger", ledger_condition_});
  out.push_back({"static-routes", static_routes_.lost()});
  out.push_back({"static-ip", static_ip_.lost()});
  out.push_back({"left-routes", static_routes_.left()});
  for (const auto& backend : backends_) backend->AppendConditions(out);
}

void NodeNetwork::FillStatus(admin::Status& status) const {
  if (plan_) {
    status.interface_name = plan_->underlay.name;
    status.mtu = plan_->mtu.bytes();
  }
  if (source_vip_.address()) status.source_vip = source_vip_.address();
  for (const auto& backend : backends_) backend->FillStatus(status);
}

void NodeNetwork::AddMetrics(metrics::Exposition& exposition) const {
  for (const auto& backend : backends_) backend->AddMetrics(exposition);
}

}  // namespace weft::node
