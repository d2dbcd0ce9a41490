// SPDX-License-Identifier: Apache-2.0
// flanneld: from the command line to a daemon, and from its end to an exit status.
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "control/command_line.h"
#include "control/config/flags.h"
#include "control/daemon/awaited_files.h"
#include "control/daemon/daemon.h"
#include "control/daemon/event_loop.h"
#include "control/daemon/process.h"
#include "control/daemon/service_program.h"
#include "control/emulator/remote/open_hns.h"
#include "control/log.h"
#include "control/own_files.h"
#include "control/service/supervisor.h"

namespace weft::daemon {
namespace {

using control::Variable;

// Passes the supervisor's stop to the event loop.
class StopRequests {
 public:
  StopRequests(service::Supervisor& supervisor, EventLoop& loop,
               std::function<void(std::string_view)> stop)
      : supervisor_(supervisor) {
    supervisor.OnStop([&loop, stop = std::move(stop)](std::string_view cause) {
      loop.Post([stop, cause = std::string(cause)] { stop(cause); });
    });
  }
  ~StopRequests() { supervisor_.OnStop(nullptr); }
  StopRequests(const StopRequests&) = delete;
  StopRequests& operator=(const StopRequests&) = delete;

 private:
  service::Supervisor& supervisor_;
};

// Shows the supervisor that the event loop turns.
class Watchdog {
 public:
  Watchdog(service::Supervisor& supervisor, EventLoop& loop)
      : supervisor_(supervisor), timer_(loop) {
    if (supervisor.watchdog_period()) Arm();
  }

 private:
  void Arm() {
    timer_.Set(std::chrono::steady_clock::now() + *supervisor_.watchdog_period(), [this] {
      supervisor_.Alive();
      Arm();
    });
  }

  service::Supervisor& supervisor_;
  Timer timer_;
};

constexpr auto kEndTime = std::chrono::milliseconds(300);

constexpr int kStopped = 0, kWrongConfiguration = 1, kWrongFlags = 2;

// Ends the process after kEndTime, even if its orderly end is delayed: Asio waits for a name lookup
// in progress, which takes half a minute where DNS does not answer.
void EndSoon(service::Supervisor& supervisor) {
  std::thread([&supervisor] {
    std::this_thread::sleep_for(kEndTime);
    supervisor.Ended(kStopped, "");
    std::_Exit(kStopped);
  }).detach();
}

int Run(const config::CommandLine& line, service::Supervisor& supervisor) {
  const config::FlagValues& values = line.values;
  const auto fail = [&supervisor](const absl::Status& status) {
    control::LogError(status.message());
    supervisor.Ended(kWrongConfiguration, status.message());
    return kWrongConfiguration;
  };
  const auto end = [&supervisor] {
    control::LogInfo("exiting cleanly");
    EndSoon(supervisor);
    return kStopped;
  };
  bool announced = false;
  const auto announce = [&] {
    if (std::exchange(announced, true)) return;
    supervisor.Running(absl::StrCat(kVersion, ", process ", ProcessId(),
                                    values.log_dir.empty()
                                        ? "; without --log-dir there is no log file"
                                        : absl::StrCat("; log in ", values.log_dir)));
  };
  const absl::StatusOr<config::Options> given = config::MakeOptions(values, Variable);
  if (!given.ok()) return fail(given.status());
  EventLoop loop;
  std::unique_ptr<Daemon> running;
  const auto stop = [&](std::string_view cause) {
    control::LogInfo(absl::StrCat("stopping on ", cause));
    supervisor.Stopping(cause);
    if (running) running->Stop();
    supervisor.Stopping(cause);
    loop.Stop();
  };
  const StopSignals signals(loop.io(), stop);
  const StopRequests requests(supervisor, loop, stop);
  Watchdog watchdog(supervisor, loop);
  absl::StatusOr<config::NodeConfig> node = absl::UnknownError("");
  std::optional<kube::ClusterServers> cluster;
  if (!MissingFile(*given).empty()) announce();  // a service manager waits half a minute
  const absl::Status configured = ReadAwaitedFiles(loop, *given, [&] {
    node = config::LoadNodeConfig(values, Variable);
    if (!node.ok() || !given->kube_subnet_mgr) return node.status();
    absl::StatusOr<kube::ClusterServers> servers = kube::ReadClusterServers(
        {given->kubeconfig_file, given->kube_api_url, given->kubelet_kubeconfig}, Variable);
    if (!servers.ok()) return servers.status();
    cluster = *std::move(servers);
    return absl::OkStatus();
  });
  if (absl::IsCancelled(configured)) return end();
  if (!configured.ok()) return fail(configured);
  std::vector<std::string> notes = line.warnings;
  if (cluster) {
    for (const kube::ClusterAccess& access : cluster->servers)
      notes.insert(notes.end(), access.warnings.begin(), access.warnings.end());
  }
  const config::Options& options = node->options;
  const control::NetConf& conf = node->conf;
  if (const absl::Status own = control::CheckOwn(options.net_config_path); !own.ok())
    control::LogWarning(absl::StrCat("net-conf ", own.message(),
                                     ": whoever can write it controls this node; let only root "
                                     "or Administrators own and write it"));
  for (const std::string& note : conf.notes) control::LogInfo(note);
  notes.insert(notes.end(), node->notes.begin(), node->notes.end());
  for (std::size_t i = line.warnings.size(); i < notes.size(); ++i) control::LogWarning(notes[i]);
  if (conf.type == control::BackendType::kVxlan) {
    control::LogInfo(absl::StrCat("vxlan: VNI ", conf.vni.value(), ", UDP port ", conf.port,
                                  "; all nodes must use this port, which is not published"));
  }
  supervisor.Progress();
  absl::StatusOr<std::unique_ptr<host::Host>> host = host::OpenHost();
  if (!host.ok()) return fail(host.status());
  supervisor.Progress();

  absl::StatusOr<std::shared_ptr<hns::Api>> hns = nullptr;
  if (options.hns_emulator || options.data_plane == config::DataPlane::kHns)
    hns = emulator::OpenHns(options.hns_emulator);
  if (!hns.ok()) return fail(hns.status());
  std::shared_ptr<host::PacketFilter> filter;
  if (options.data_plane != config::DataPlane::kHns) filter = host::OpenPacketFilter();

  const auto on_health = [&supervisor](const service::Health& health) {
    supervisor.Report(health, std::chrono::steady_clock::now());
  };
  absl::StatusOr<std::unique_ptr<Daemon>> daemon = Daemon::Make(loop,
                                                                {.options = options,
                                                                 .conf = conf,
                                                                 .cluster = std::move(cluster),
                                                                 .hns = *std::move(hns),
                                                                 .filter = std::move(filter),
                                                                 .notes = std::move(notes),
                                                                 .unprotected = node->unprotected,
                                                                 .on_health = on_health},
                                                                *std::move(host));
  if (!daemon.ok()) return fail(daemon.status());
  running = *std::move(daemon);
  if (absl::Status status = running->Start(); !status.ok()) return fail(status);
  announce();
  loop.Run();
  return end();
}

int Serve(const std::vector<std::string>& words, service::Supervisor& supervisor) {
  const absl::StatusOr<config::CommandLine> line = config::ParseFlags(words, Variable);
  if (!line.ok()) {
    std::fprintf(stderr, "flanneld: %s; see flanneld --help\n",
                 std::string(line.status().message()).c_str());
    supervisor.Ended(kWrongFlags, line.status().message());
    return kWrongFlags;
  }
  if (line->help) {
    std::fputs(config::Usage().c_str(), stdout);
    return kStopped;
  }
  if (line->values.version) {
    std::printf("flanneld %s (weft)\n", std::string(kVersion).c_str());
    return kStopped;
  }
  const auto file = config::LogFileOf(line->values);
  control::StartLog(
      line->values.log_format == "json" ? control::LogFormat::kJson : control::LogFormat::kKlog,
      line->values.verbosity, supervisor.has_stderr(), file.ok() ? *file : std::nullopt);
  control::LogInfo(absl::StrCat("flanneld ", kVersion, " (weft) ", config::Describe(line->values)));
  for (const std::string& warning : line->warnings) control::LogWarning(warning);
  return Run(*line, supervisor);
}

std::string Unexpected(const std::exception& error) {
  return absl::StrCat("unexpected error, please report it: ", error.what());
}

int Main(const std::vector<std::string>& words) {
  PrepareProcess();
  if (!words.empty() && words[0] == "service")
    return RunServiceCommand(std::span(words).subspan(1));
  return service::RunSupervised([&words](service::Supervisor& supervisor) {
    try {
      return Serve(words, supervisor);
    } catch (const std::exception& error) {
      control::LogError(Unexpected(error));
      supervisor.Ended(kWrongConfiguration, Unexpected(error));
      return kWrongConfiguration;
    }
  });
}

}  // namespace
}  // namespace weft::daemon

int main(int argc, char** argv) { return weft::daemon::Main(weft::control::Arguments(argc, argv)); }
