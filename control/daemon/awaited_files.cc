// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/awaited_files.h"

#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "control/admin/admin_server.h"
#include "control/condition.h"
#include "control/daemon/daemon.h"
#include "control/daemon/health.h"
#include "control/daemon/process.h"
#include "control/file_io.h"
#include "control/log.h"
#include "control/metrics/exposition.h"

namespace weft::daemon {
namespace {

using std::chrono::steady_clock;

constexpr auto kPeriod = std::chrono::milliseconds(250);
constexpr auto kWriteTime = std::chrono::seconds(2);
constexpr std::string_view kNetConf = "net-conf", kKubeconfig = "kubeconfig";

// "does not exist", "is empty", or empty.
std::string_view AbsenceOf(const std::string& path) {
  std::error_code error;
  const std::filesystem::path file = control::PathOf(path);
  const auto found = std::filesystem::status(file, error);
  if (found.type() == std::filesystem::file_type::not_found) return "does not exist";
  if (std::filesystem::is_regular_file(found) && std::filesystem::file_size(file, error) == 0)
    return "is empty";
  return "";
}

std::string SentenceOf(std::string_view name, const std::string& path, std::string_view flag) {
  const std::string_view absence = AbsenceOf(path);
  if (absence.empty()) return "";
  return absl::StrCat(name, " ", path, " ", absence, "; flanneld waits for it: put it there, or ",
                      "correct ", flag);
}

// What flanneld reports meanwhile.
class WaitingState final : public admin::StateProvider {
 public:
  explicit WaitingState(const config::Options& options)
      : options_(options), started_(absl::ToUnixSeconds(absl::Now())) {}
  void Set(const std::string& text) { condition_.Set(text); }

  std::vector<admin::Check> Checks() const { return {{"configuration", false, condition_.text()}}; }
  admin::Status ReadStatus() override {
    admin::Status status;
    status.version = kVersion;
    status.node = options_.node_name;
    status.pid = ProcessId();
    status.started = started_;
    status.backend = "unknown";
    status.dataplane = Name(options_.data_plane);
    status.checks = Checks();
    status.source.description = "not opened yet";
    return status;
  }
  admin::LeaseList ReadLeases() override {
    admin::LeaseList list;
    list.source = condition_.text();
    return list;
  }
  std::optional<absl::StatusOr<admin::Plan>> RequestPlan(const std::string&, bool) override {
    return absl::FailedPreconditionError(condition_.text());
  }
  std::uint64_t generation() const override { return 0; }

 private:
  const config::Options& options_;
  const std::int64_t started_;  // Unix seconds
  control::Condition condition_;
};

// All that /metrics can say meanwhile.
std::string NotReady() {
  metrics::Exposition exposition;
  exposition.Add(metrics::Metric::kReady, {}, 0);
  return exposition.Text();
}

// Its servers end with it, and the daemon opens its own. Errors are those of the command line.
class WaitingServers {
 public:
  WaitingServers(EventLoop& loop, const config::Options& options, WaitingState& state)
      : options_(options),
        health_(loop.io(), HealthHandler([&state] { return state.Checks(); }, NotReady)),
        admin_(loop.io(), state) {}

  absl::Status Open() {
    if (options_.healthz_port && !health_open_) {
      const auto bound = health_.ListenTcp(options_.healthz_ip, *options_.healthz_port);
      if (absl::IsInvalidArgument(bound.status()))
        return absl::InvalidArgumentError(absl::StrCat("health checks: ", bound.status().message(),
                                                       " (--healthz-ip, --healthz-port)"));
      health_open_ = bound.ok();
    }
    if (options_.admin && !admin_open_) {
      const absl::Status listens = admin_.Listen(*options_.admin);
      if (absl::IsInvalidArgument(listens)) return listens;
      admin_open_ = listens.ok();
    }
    return absl::OkStatus();
  }

 private:
  const config::Options& options_;
  admin::HttpServer health_;
  admin::AdminServer admin_;
  bool health_open_ = false, admin_open_ = false;
};

}  // namespace

std::string MissingFile(const config::Options& options) {
  std::string missing = SentenceOf(kNetConf, options.net_config_path, "--net-config-path");
  if (missing.empty() && options.kube_subnet_mgr && !options.kubeconfig_file.empty())
    missing = SentenceOf(kKubeconfig, options.kubeconfig_file, "--kubeconfig-file");
  return missing;
}

absl::Status ReadAwaitedFiles(EventLoop& loop, const config::Options& options,
                              const std::function<absl::Status()>& read) {
  std::string missing = MissingFile(options);
  if (missing.empty()) return read();
  WaitingState state(options);
  WaitingServers servers(loop, options, state);
  std::optional<absl::Status> result;
  std::optional<steady_clock::time_point> wrong_since;
  Timer timer(loop);
  const auto end = [&](absl::Status status) {
    result = std::move(status);
    loop.Stop();
  };
  const std::function<void()> poll = [&] {
    if (absl::Status opened = servers.Open(); !opened.ok()) return end(std::move(opened));
    const auto now = steady_clock::now();
    missing = MissingFile(options);
    if (missing.empty()) {
      absl::Status status = read();
      if (!wrong_since) wrong_since = now;
      if (status.ok() || now - *wrong_since >= kWriteTime) return end(std::move(status));
      missing =
          absl::StrCat(status.message(), "; flanneld reads it again in case it is half written");
    } else {
      wrong_since.reset();
    }
    state.Set(missing);
    timer.Set(now + kPeriod, poll);
  };
  poll();
  if (!result) loop.Run();
  if (!result) return absl::CancelledError("stopped");
  if (result->ok()) control::LogInfo("the configuration is complete");
  return *result;
}

}  // namespace weft::daemon
