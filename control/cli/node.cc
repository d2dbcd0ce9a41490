// SPDX-License-Identifier: Apache-2.0
// flannelctl node leave
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "control/cli/daemon_check.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"
#include "control/command_line.h"
#include "control/config/options.h"
#include "control/kube/client/api_call.h"
#include "control/kube/client/api_client.h"
#include "control/kube/client/cluster_servers.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/kube/node_leave.h"
#include "control/own_files.h"

namespace weft::cli {
namespace {

constexpr char kLeaveVerb[] = "node leave";
constexpr auto kCallLimit = std::chrono::seconds(40);

// Empty: as flanneld's variables FLANNELD_... and NODE_NAME say, else its defaults.
struct ClusterOptions {
  std::string node_name, kubeconfig_file, kubelet_kubeconfig, annotation_prefix;
  std::vector<std::string> api_urls;
};

void AddClusterOptions(CLI::App& parser, ClusterOptions& options) {
  AddOption(parser, "--node-name", options.node_name, "NAME",
            "The Node's name; else the variable NODE_NAME");
  AddOption(parser, "--kubeconfig-file", options.kubeconfig_file, "PATH",
            "Credentials for the API server; without this and --kube-api-url, the pod's service "
            "account");
  AddOption(parser, "--kube-api-url", options.api_urls, "URL",
            "The API server, https://HOST:PORT, overrides the kubeconfig's; may be repeated")
      ->allow_extra_args(false);
  AddOption(parser, "--kubelet-kubeconfig", options.kubelet_kubeconfig, "PATH",
            "In a pod: has the API server's address to use while the Kubernetes service does not "
            "answer; as flanneld's");
  AddOption(parser, "--kube-annotation-prefix", options.annotation_prefix, "PREFIX",
            "Prefix of flannel's annotations, as flanneld's");
}

struct Cluster {
  std::string node_name;
  kube::AnnotationKeys keys;
  kube::ClusterServers servers;
};

// Refuses what flanneld refuses; a Node's name is required.
absl::StatusOr<Cluster> ReadCluster(const ClusterOptions& given) {
  auto flags = config::ParseFlags({}, control::Variable);  // the variables alone
  if (!flags.ok()) return flags.status();
  config::FlagValues values;
  const config::FlagValues& variables = flags->values;
  const auto either = [](const std::string& option, const std::string& variable) {
    return option.empty() ? variable : option;
  };
  values.kube_subnet_mgr = true;
  values.node_name = either(given.node_name, variables.node_name);
  values.kubeconfig_file = either(given.kubeconfig_file, variables.kubeconfig_file);
  values.kube_api_url = given.api_urls.empty() ? variables.kube_api_url : given.api_urls;
  values.kubelet_kubeconfig = either(given.kubelet_kubeconfig, variables.kubelet_kubeconfig);
  values.kube_annotation_prefix = either(given.annotation_prefix, variables.kube_annotation_prefix);
  const auto options = config::MakeOptions(values, control::Variable);
  if (!options.ok()) return options.status();
  if (options->node_name.empty()) {
    return absl::InvalidArgumentError(
        "the Node's name is not known: give --node-name, or set the variable NODE_NAME");
  }
  Cluster cluster;
  cluster.node_name = options->node_name;
  auto keys = kube::AnnotationKeys::Of(options->kube_annotation_prefix);
  if (!keys.ok()) return keys.status();
  cluster.keys = *std::move(keys);
  auto servers = kube::ReadClusterServers(
      {options->kubeconfig_file, options->kube_api_url, options->kubelet_kubeconfig},
      control::Variable);
  if (!servers.ok()) return servers.status();
  cluster.servers = *std::move(servers);
  return cluster;
}

struct LeaveVerbOptions {
  ClusterOptions cluster;
  std::string admin, state_dir = control::DefaultStateFolder();
  std::string timeout = "60s";
  bool force = false, dry_run = false;
};

// Sends what the state machine requests, until it ends or `timeout` passed. One thread: the
// caller's.
class Requests {
 public:
  Requests(kube::NodeLeave& leave, kube::ClusterServers servers, absl::Duration timeout)
      : leave_(leave),
        client_(io_, std::move(servers), absl::StrCat("flannelctl/", WEFT_VERSION, " (weft)")),
        wait_(io_),
        timeout_(timeout) {}

  absl::StatusOr<kube::NodeLeave::Left> Run() {
    Continue();
    io_.run_for(absl::ToChronoNanoseconds(timeout_));
    return leave_.result();
  }

 private:
  void Continue() {
    auto step = leave_.Next();
    if (!step) return io_.stop();
    wait_.expires_after(step->wait);
    wait_.async_wait([this, request = std::move(step->request)](boost::system::error_code) {
      call_ = std::make_unique<kube::ApiCall>(
          client_, request, kCallLimit,
          [this](const absl::StatusOr<kube::ApiAnswer>& answer) {
            const auto ended = std::move(call_);  // not destroyed during its own callback
            leave_.OnAnswer(answer);
            Continue();
          },
          kube::NodeLeave::kLongestPage);
    });
  }

  kube::NodeLeave& leave_;
  boost::asio::io_context io_;
  kube::ApiClient client_;
  boost::asio::steady_timer wait_;
  const absl::Duration timeout_;
  std::unique_ptr<kube::ApiCall> call_;
};

ExitCode RunLeave(const LeaveVerbOptions& options, Io& io) {
  const absl::StatusOr<absl::Duration> timeout = DurationOf("--timeout", options.timeout, "60s");
  if (!timeout.ok()) return Fail(io, kLeaveVerb, timeout.status());
  absl::StatusOr<Cluster> cluster = ReadCluster(options.cluster);
  if (!cluster.ok()) return Fail(io, kLeaveVerb, cluster.status());
  const absl::Status stopped = RefuseDaemonOf(
      cluster->node_name, control::WithoutEndSlash(options.state_dir), options.admin);
  if (!stopped.ok()) return Fail(io, kLeaveVerb, stopped);
  for (const kube::ClusterAccess& server : cluster->servers.servers)
    for (const std::string& warning : server.warnings)
      io.err << "flannelctl node leave: " << warning << "\n";
  kube::NodeLeave leave(
      {cluster->keys, cluster->node_name, options.force, options.dry_run, /*retry=*/{}},
      control::SystemRandom());
  const auto left = Requests(leave, std::move(cluster->servers), *timeout).Run();
  if (absl::IsUnavailable(left.status())) {
    return Fail(io, kLeaveVerb,
                absl::UnavailableError(absl::StrCat(left.status().message(), "; not done within ",
                                                    options.timeout, ": run it again")));
  }
  if (!left.ok()) return Fail(io, kLeaveVerb, left.status());
  const std::string lower = absl::AsciiStrToLower(cluster->node_name);
  if (!left->node_exists && lower != cluster->node_name) {
    return Fail(io, kLeaveVerb,
                absl::NotFoundError(absl::StrCat("there is no Node ", cluster->node_name,
                                                 ": names of Nodes have no capitals; give "
                                                 "--node-name=",
                                                 lower)));
  }
  if (!left->node_exists) {
    io.out << "nothing to do: there is no Node " << cluster->node_name << "\n";
  } else if (left->removed.empty()) {
    io.out << "nothing to do: Node " << cluster->node_name << " has no annotation of flannel's\n";
  }
  for (const std::string& key : left->removed) {
    io.out << (options.dry_run ? "would remove " : "removed ") << key << " from Node "
           << cluster->node_name << "\n";
  }
  return ExitCode::kOk;
}

}  // namespace

Action AddNodeLeave(CLI::App& parser) {
  auto options = std::make_shared<LeaveVerbOptions>();
  parser.add_flag("--dry-run", options->dry_run, "Print what would be removed, and remove nothing");
  parser.add_flag("--force", options->force,
                  "Do not read which pods run: they lose the other nodes' pods");
  AddClusterOptions(parser, options->cluster);
  AddOption(parser, "--timeout", options->timeout, "DURATION",
            "How long to try while the API server does not answer, as 60s or 2m30s")
      ->capture_default_str();
  AddOption(parser, "--state-dir", options->state_dir, "PATH",
            "The folder of flanneld's --state-dir, where a running flanneld has its lock; else its "
            "default");
  AddOption(parser, "--admin", options->admin, "PATH",
            "Admin endpoint of a flanneld that may still run, if not this node's own; none: do not "
            "check");
  parser.footer(
      "Removes the annotations that flanneld writes to its Node, so that all peers\n"
      "remove this node: backend-data, backend-type, kube-subnet-manager, public-ip and\n"
      "those of IPv6. What an administrator set (public-ip-overwrite, node-public-ip)\n"
      "stays. Refused while a flanneld of this node runs, which would write them again,\n"
      "and while pods run that are not a DaemonSet's, on the host's network, static or\n"
      "terminated. This node's own network stays: `flannelctl reset` removes it.\n\n"
      "Needs `get` of nodes and `patch` of nodes/status, as flanneld, and `list` of pods.\n\n"
      "Exit code: 0 done, or nothing to do, 2 refused, or the API server does not\nanswer.\n\n"
      "Examples:\n"
      "  kubectl drain win1\n"
      "  flannelctl node leave --node-name=win1 --kubeconfig-file=admin.conf");
  return [options](Io& io) { return RunLeave(*options, io); };
}

Action AddNode(CLI::App& parser) {
  parser.footer(
      "Examples:\n"
      "  flannelctl node leave --node-name=win1 --kubeconfig-file=admin.conf --dry-run");
  return AddVerbs(parser, kNodeVerbs);
}

}  // namespace weft::cli
