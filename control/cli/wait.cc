// SPDX-License-Identifier: Apache-2.0
// flannelctl wait: for scripts that start what needs flanneld.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "control/admin/admin_client.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"

namespace weft::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr auto kPeriod = milliseconds(200);
constexpr auto kLongestAnswer = milliseconds(10'000);
constexpr absl::Duration kLongestTimeout = absl::Hours(24 * 365);

struct WaitOptions {
  std::string target = "ready", timeout = "60s", admin;
};

// The checks of `status` (control/node, AppendChecks) that `target` needs.
bool IsNeeded(std::string_view target, std::string_view check) {
  if (target == "network")
    return check == "interface" || check == "tunnels" || check == "hns" || check == "sinks";
  return check == "subnet-file";
}

// What `status` lacks for `target`, an item each; empty: it is reached.
std::vector<std::string> MissingFor(std::string_view target, const admin::Status& status) {
  std::vector<std::string> missing;
  if (target == "ready" && status.ready) return missing;
  bool found = false;
  for (const admin::Check& check : status.checks) {
    if (target != "ready" && !IsNeeded(target, check.name)) continue;
    found = found || target != "ready";
    if (!check.ok)
      missing.push_back(absl::StrCat(check.name, check.text.empty() ? "" : ": ", check.text));
  }
  // A flanneld that waits for its configuration has none of these checks yet.
  if (missing.empty() && !found) missing.emplace_back("flanneld is starting");
  return missing;
}

// Errors that no later answer of flanneld ends.
bool IsLasting(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsFailedPrecondition(status);
}

// Zero and more; the text is kubectl's: 90s, 1m30s, 2h.
std::optional<milliseconds> ParseTimeout(const std::string& text) {
  absl::Duration timeout;
  if (!absl::ParseDuration(text, &timeout) || timeout < absl::ZeroDuration()) return std::nullopt;
  return absl::ToChronoMilliseconds(std::min(timeout, kLongestTimeout));
}

ExitCode RunWait(const WaitOptions& options, Io& io) {
  const std::optional<milliseconds> timeout = ParseTimeout(options.timeout);
  if (!timeout) {
    return Fail(io, "wait",
                absl::InvalidArgumentError(absl::StrCat("--timeout=", options.timeout,
                                                        " is not a duration; write 60s or 2m30s")));
  }
  const std::string endpoint = EndpointOf(options.admin);
  const steady_clock::time_point deadline = steady_clock::now() + *timeout;
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    const absl::StatusOr<admin::Status> status =
        admin::AdminClient(endpoint, std::clamp(left, kPeriod, kLongestAnswer)).ReadStatus();
    if (IsLasting(status.status())) return Fail(io, "wait", status.status());
    std::vector<std::string> missing;
    if (status.ok())
      missing = MissingFor(options.target, *status);
    else
      missing.emplace_back(status.status().message());
    if (missing.empty()) {
      io.out << options.target << "\n";
      return ExitCode::kOk;
    }
    if (steady_clock::now() + kPeriod > deadline) {
      io.err << "flannelctl wait: --for=" << options.target << " not reached within "
             << options.timeout << ": " << absl::StrJoin(missing, "; ") << "\n";
      return ExitCode::kFinding;
    }
    std::this_thread::sleep_for(kPeriod);
  }
}

}  // namespace

Action AddWait(CLI::App& parser) {
  auto options = std::make_shared<WaitOptions>();
  AddOption(parser, "--for", options->target, "STATE",
            "ready: as `status` and /readyz report it; network: tunnels, or the network in HNS, "
            "and the routes to the known peers; cni: subnet.env is written")
      ->check(CLI::IsMember({"ready", "network", "cni"}))
      ->capture_default_str();
  AddOption(parser, "--timeout", options->timeout, "DURATION",
            "How long at most, as 60s or 2m30s; 0s inspects once")
      ->capture_default_str();
  AddAdminOption(parser, options->admin);
  parser.footer(
      "A flanneld that does not run yet is waited for.\n\n"
      "Exit code: 0 reached, 1 not within the timeout (stderr has what is missing),\n"
      "2 wrong usage, or the admin endpoint is closed to this user.\n\n"
      "Examples:\n"
      "  flannelctl wait\n"
      "  flannelctl wait --for=network --timeout=2m && net start kube-proxy");
  return [options](Io& io) { return RunWait(*options, io); };
}

}  // namespace weft::cli
