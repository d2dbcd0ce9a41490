// SPDX-License-Identifier: Apache-2.0
// flanneld: from the command line to a daemon, and from its end to an exit status.
#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>

#include "absl/strings/str_cat.h"
#include "control/command_line.h"
#include "control/config/flags.h"
#include "control/daemon/awaited_files.h"
#include "control/daemon/daemon.h"
#include "control/daemon/event_loop.h"
#include "control/daemon/service.h"
#include "control/emulator/remote/open_hns.h"
#include "control/log.h"
#include "control/own_files.h"

namespace weft::daemon {
namespace {

using control::Variable;

constexpr auto kEndTime = std::chrono::milliseconds(300);

constexpr int kStopped = 0, kWrongConfiguration = 1, kWrongFlags = 2;

// Ends the process after kEndTime, even if its orderly end is delayed: Asio waits for a name lookup
// in progress, which takes half a minute where DNS does not answer.
void EndSoon() {
  std::thread([] {
    std::this_thread::sleep_for(kEndTime);
    std::_Exit(kStopped);
  }).detach();
}

int Fail(const absl::Status& status) {
  control::LogError(status.message());
  return kWrongConfiguration;
}

int End() {
  control::LogInfo("exiting cleanly");
  EndSoon();
  return kStopped;
}

int Run(const config::FlagValues& values) {
  const absl::StatusOr<config::Options> given = config::MakeOptions(values, Variable);
  if (!given.ok()) return Fail(given.status());
  EventLoop loop;
  std::unique_ptr<Daemon> running;
  const StopSignals signals(loop.io(), [&](std::string_view name) {
    control::LogInfo(absl::StrCat("stopping on ", name));
    if (running) running->Stop();
    loop.Stop();
  });
  absl::StatusOr<config::NodeConfig> node = absl::UnknownError("");
  std::optional<kube::ClusterAccess> cluster;
  const absl::Status configured = ReadAwaitedFiles(loop, *given, [&] {
    node = config::LoadNodeConfig(values, Variable);
    if (!node.ok() || !given->kube_subnet_mgr) return node.status();
    absl::StatusOr<kube::ClusterAccess> access =
        kube::ReadClusterAccess(given->kubeconfig_file, given->kube_api_url, Variable);
    if (access.ok()) cluster = *std::move(access);
    return access.status();
  });
  if (absl::IsCancelled(configured)) return End();
  if (!configured.ok()) return Fail(configured);
  if (cluster) {
    for (const std::string& warning : cluster->warnings) control::LogWarning(warning);
  }
  const config::Options& options = node->options;
  const control::NetConf& conf = node->conf;
  if (const absl::Status own = control::CheckOwn(options.net_config_path); !own.ok())
    control::LogWarning(absl::StrCat("net-conf ", own.message(),
                                     ": whoever can write it controls this node; let only root "
                                     "or Administrators own and write it"));
  for (const std::string& note : conf.notes) control::LogInfo(note);
  if (conf.ipv6_left_out) {
    control::LogWarning(
        "EnableIPv6 of net-conf has no effect on this node, because HNS has no IPv6 networks: its "
        "pods have only IPv4, and other nodes send it no IPv6 packets for pods");
  }
  if (conf.type == control::BackendType::kVxlan) {
    control::LogInfo(absl::StrCat("vxlan: VNI ", conf.vni.value(), ", UDP port ", conf.port,
                                  "; all nodes must use this port, which is not published"));
  }
  absl::StatusOr<std::unique_ptr<host::Host>> host = host::OpenHost();
  if (!host.ok()) return Fail(host.status());

  absl::StatusOr<std::shared_ptr<hns::Api>> hns = nullptr;
  if (options.hns_emulator || options.data_plane == config::DataPlane::kHns)
    hns = emulator::OpenHns(options.hns_emulator);
  if (!hns.ok()) return Fail(hns.status());
  std::shared_ptr<host::PacketFilter> filter;
  if (options.data_plane != config::DataPlane::kHns) filter = host::OpenPacketFilter();
  if (filter && options.data_plane == config::DataPlane::kNone && options.ip_masq) {
    control::LogWarning(
        "--ip-masq has no effect with --dataplane=none: subnet.env has FLANNEL_IPMASQ=false, so "
        "that the CNI plugin masquerades");
  }

  absl::StatusOr<std::unique_ptr<Daemon>> daemon =
      Daemon::Make(loop, {options, conf, std::move(cluster), *std::move(hns), std::move(filter)},
                   *std::move(host));
  if (!daemon.ok()) return Fail(daemon.status());
  running = *std::move(daemon);
  if (absl::Status status = running->Start(); !status.ok()) return Fail(status);
  loop.Run();
  return End();
}

int Main(int argc, char** argv) {
  const std::vector<std::string> words = control::Arguments(argc, argv);
  const absl::StatusOr<config::CommandLine> line = config::ParseFlags(words, Variable);
  if (!line.ok()) {
    std::fprintf(stderr, "flanneld: %s; see flanneld --help\n",
                 std::string(line.status().message()).c_str());
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
  PrepareProcess();
  control::StartLog(
      line->values.log_format == "json" ? control::LogFormat::kJson : control::LogFormat::kKlog,
      line->values.verbosity);
  control::LogInfo(absl::StrCat("flanneld ", kVersion, " (weft) ", config::Describe(line->values)));
  for (const std::string& warning : line->warnings) control::LogWarning(warning);
  return Run(line->values);
}

}  // namespace
}  // namespace weft::daemon

int main(int argc, char** argv) {
  try {
    return weft::daemon::Main(argc, argv);
  } catch (const std::exception& error) {
    weft::control::LogError(absl::StrCat("unexpected error, please report it: ", error.what()));
    return 1;
  }
}
