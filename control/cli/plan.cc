// SPDX-License-Identifier: Apache-2.0
// flannelctl plan, flannelctl hns drift, flannelctl hns repair: what a running flanneld would
// change in HNS.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "control/admin/admin_client.h"
#include "control/cli/parser.h"
#include "control/cli/plan_offline.h"
#include "control/cli/verbs.h"
#include "nlohmann/json.hpp"

namespace weft::cli {
namespace {

constexpr std::size_t kShown = 50;  // lines of a long list

struct PlanOptions {
  std::string admin, output = "text";
  bool offline = false;
  std::string timeout = "30s";
  std::vector<std::string> flags;  // flanneld's
};

absl::StatusOr<admin::Plan> Read(const PlanOptions& options, bool repair) {
  return admin::AdminClient(EndpointOf(options.admin)).ReadPlan(repair);
}

void Print(const std::vector<std::string>& lines, Io& io) {
  const std::size_t shown = std::min(lines.size(), kShown);
  for (std::size_t i = 0; i < shown; ++i) io.out << lines[i] << "\n";
  if (shown < lines.size())
    io.out << "and " << lines.size() - shown << " more; -o json has them all\n";
}

// What all three verbs print alike; false: nothing was printed.
bool Printed(const admin::Plan& plan, const PlanOptions& options, Io& io) {
  if (options.output == "json") {
    io.out << admin::ToJson(plan).dump(2) << "\n";
    return true;
  }
  if (!plan.refused.empty()) {
    io.out << "the network " << plan.network << " must not be changed: " << plan.refused << "\n";
    return true;
  }
  if (plan.calls.empty() && plan.differences.empty()) {
    io.out << "nothing to do: the network " << plan.network << " is in sync\n";
    return true;
  }
  return false;
}

ExitCode CodeOf(const admin::Plan& plan) {
  const bool in_sync =
      plan.refused.empty() && (plan.repaired ? plan.left : plan.differences).empty();
  return in_sync ? ExitCode::kOk : ExitCode::kFinding;
}

void PrintCalls(const std::vector<admin::PlanCall>& calls, Io& io) {
  for (const admin::PlanCall& call : calls) {
    io.out << call.what << "\n";
    const auto json =
        nlohmann::ordered_json::parse(call.document, nullptr, /*allow_exceptions=*/false);
    if (!call.document.empty())
      io.out << (json.is_discarded() ? call.document : json.dump(2)) << "\n";
  }
}

ExitCode RunOffline(const PlanOptions& options, Io& io) {
  const absl::StatusOr<absl::Duration> timeout = DurationOf("--timeout", options.timeout, "30s");
  if (!timeout.ok()) return Fail(io, "plan", timeout.status());
  const absl::StatusOr<OfflinePlan> plan = PlanOffline(options.flags, *timeout);
  if (!plan.ok()) return Fail(io, "plan", plan.status());
  const bool nothing = plan->changes.empty() && CodeOf(plan->hns) == ExitCode::kOk;
  const ExitCode code = nothing ? ExitCode::kOk : ExitCode::kFinding;
  if (options.output == "json") {
    nlohmann::ordered_json json = admin::ToJson(plan->hns);
    json["facts"] = plan->facts;
    json["changes"] = plan->changes;
    io.out << json.dump(2) << "\n";
    return code;
  }
  Print(plan->facts, io);
  for (const std::string& each : plan->changes)
    io.out << "would " << absl::StripTrailingAsciiWhitespace(each) << "\n";
  if (plan->hns.network.empty()) {
    if (nothing) io.out << "nothing to do\n";
    return code;
  }
  if (!Printed(plan->hns, options, io)) PrintCalls(plan->hns.calls, io);
  return code;
}

ExitCode RunPlan(const PlanOptions& options, Io& io) {
  if (options.offline) return RunOffline(options, io);
  if (!options.flags.empty()) {
    return Fail(io, "plan",
                absl::InvalidArgumentError(
                    "flags of flanneld are for --offline; a running flanneld has its own"));
  }
  const absl::StatusOr<admin::Plan> plan = Read(options, /*repair=*/false);
  if (!plan.ok()) return Fail(io, "plan", plan.status());
  if (!Printed(*plan, options, io)) PrintCalls(plan->calls, io);
  return CodeOf(*plan);
}

ExitCode RunDrift(const PlanOptions& options, Io& io) {
  const absl::StatusOr<admin::Plan> plan = Read(options, /*repair=*/false);
  if (!plan.ok()) return Fail(io, "hns drift", plan.status());
  if (!Printed(*plan, options, io)) Print(plan->differences, io);
  return CodeOf(*plan);
}

ExitCode RunRepair(const PlanOptions& options, Io& io) {
  const absl::StatusOr<admin::Plan> plan = Read(options, /*repair=*/true);
  if (!plan.ok()) return Fail(io, "hns repair", plan.status());
  if (!Printed(*plan, options, io)) {
    // An earlier flanneld does not report what it repaired; if nothing is left, it repaired
    // everything.
    std::vector<std::string> done = plan->done.value_or(std::vector<std::string>());
    if (!plan->done && plan->left.empty()) done = plan->differences;
    const auto part = [&](std::string_view title, const std::vector<std::string>& lines) {
      if (!lines.empty()) io.out << title << "\n";
      Print(lines, io);
    };
    part("repaired:", done);
    part("not repaired; flanneld tries again:", plan->left);
    if (!plan->left.empty()) part("causes:", plan->causes.value_or(std::vector<std::string>()));
  }
  return CodeOf(*plan);
}

std::shared_ptr<PlanOptions> AddOptions(CLI::App& parser) {
  auto options = std::make_shared<PlanOptions>();
  AddOutputOption(parser, options->output, {"text", "json"});
  AddAdminOption(parser, options->admin);
  return options;
}

}  // namespace

Action AddPlan(CLI::App& parser) {
  const auto options = AddOptions(parser);
  CLI::Option* const offline = parser.add_flag(
      "--offline", options->offline,
      "Without a running flanneld: what one would do that is started now with FLAG...; nothing is "
      "changed, neither here nor in the cluster");
  AddOption(parser, "--timeout", options->timeout, "DURATION",
            "With --offline: how long to wait for the API server's Nodes")
      ->capture_default_str()
      ->needs(offline);
  AddOption(parser, "flags", options->flags, "FLAG...",
            "With --offline: flanneld's flags, after --");
  parser.footer(
      "Exit code: 0 nothing to do, 1 something to do, or changes are refused,\n"
      "2 flanneld or HNS does not answer; with --offline, what flanneld would wait\n"
      "for or end with.\n\n"
      "Examples:\n"
      "  flannelctl plan\n"
      "  flannelctl plan --offline -- --kube-subnet-mgr --kubeconfig-file=C:\\k\\config\n"
      "  flannelctl plan -o json | jq -r '.calls[].document'");
  return [options](Io& io) { return RunPlan(*options, io); };
}

Action AddHnsDrift(CLI::App& parser) {
  const auto options = AddOptions(parser);
  parser.footer(
      "Exit code: 0 nothing differs, 1 something does, 2 flanneld or HNS does not\n"
      "answer.\n\n"
      "Examples:\n"
      "  flannelctl hns drift");
  return [options](Io& io) { return RunDrift(*options, io); };
}

Action AddHnsRepair(CLI::App& parser) {
  const auto options = AddOptions(parser);
  parser.footer(
      "flanneld does so by itself every minute; start it where it does not run.\n\n"
      "Exit code: 0 in sync, 1 differences remain, or changes are refused, 2 flanneld\n"
      "or HNS does not answer.\n\n"
      "Examples:\n"
      "  flannelctl hns repair");
  return [options](Io& io) { return RunRepair(*options, io); };
}

}  // namespace weft::cli
