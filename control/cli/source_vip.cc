// SPDX-License-Identifier: Apache-2.0
// flannelctl source-vip: the address that is reserved for kube-proxy.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/admin/admin_client.h"
#include "control/cli/json_to_yaml.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"
#include "control/cni/source_vip.h"
#include "control/config/flag_values.h"
#include "control/file_io.h"
#include "control/node/subnet_env.h"
#include "control/own_files.h"
#include "nlohmann/json.hpp"
#include "yaml-cpp/yaml.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSourceVipVerb[] = "source-vip";
constexpr char kKubeProxyConfig[] = "kube-proxy-config";

struct SourceVipOptions {
  std::string admin, output = "text", base;
  std::string store = control::OnSystemDrive(config::PlainValues().source_vip_store);
  std::string subnet_file = control::OnSystemDrive(config::PlainValues().subnet_file);
  std::string network = "flannel.4096";
  std::vector<const CLI::Option*> of_store;  // without effect while flanneld answers
};

struct SourceVip {
  IpAddress address;
  IpPrefix subnet;
  std::string network;
};

absl::StatusOr<SourceVip> OfDaemon(const admin::Status& status) {
  if (status.source_vip && status.v4 && status.v4->subnet && status.hns)
    return SourceVip{*status.source_vip, *status.v4->subnet, status.hns->network};
  for (const admin::ConditionStatus& each : status.conditions) {
    if (each.subject == kSourceVipVerb && !each.condition.empty())
      return absl::NotFoundError(each.condition);
  }
  return absl::NotFoundError(
      status.dataplane == "hns" && status.backend == "vxlan"
          ? "flanneld has not reserved it yet, or has an empty --source-vip-store; \"flannelctl "
            "status\" shows what it waits for"
          : absl::StrCat("this node needs none (Backend.Type ", status.backend, ", data plane ",
                         status.dataplane,
                         "): kube-proxy uses one on an overlay network in HNS alone"));
}

absl::StatusOr<SourceVip> OfStore(const SourceVipOptions& options) {
  const absl::StatusOr<IpPrefix> subnet = node::ReadOwnSubnet(options.subnet_file);
  if (!subnet.ok()) {
    return absl::NotFoundError(
        absl::StrCat("flanneld does not answer, and ", subnet.status().message()));
  }
  const cni::SourceVipSpec spec{options.store, options.network, *subnet};
  const absl::StatusOr<std::optional<IpAddress>> found = cni::FindSourceVip(spec);
  if (!found.ok()) return found.status();
  if (*found) return SourceVip{**found, spec.subnet, spec.network};
  return absl::NotFoundError(absl::StrCat(
      "no source VIP of ", spec.subnet.ToString(), " is reserved in ", options.store, "/",
      options.network,
      "; start flanneld, which reserves it, or name the network of HNS with --network"));
}

// ---- KubeProxyConfiguration

// A plain scalar as Kubernetes' YAML reader types it; kube-proxy refuses "true" for true.
Json ScalarJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (bool value = false; YAML::convert<bool>::decode(node, value)) return value;
  if (std::int64_t value = 0; YAML::convert<std::int64_t>::decode(node, value)) return value;
  if (double value = 0; YAML::convert<double>::decode(node, value)) return value;
  return text;
}

// `left`: how many values it may still have, since aliases multiply them.
absl::StatusOr<Json> JsonOf(const YAML::Node& node, int& left, int depth = 0) {
  constexpr int kMostDepth = 32;
  if (depth > kMostDepth) return absl::InvalidArgumentError("it is nested too deeply");
  if (--left < 0) return absl::InvalidArgumentError("it has too many values");
  if (node.IsScalar()) return ScalarJson(node);
  if (node.IsNull()) return Json();
  Json json = node.IsMap() ? Json::object() : Json::array();
  for (const auto& each : node) {
    const absl::StatusOr<Json> value = JsonOf(node.IsMap() ? each.second : each, left, depth + 1);
    if (!value.ok()) return value;
    if (!node.IsMap())
      json.push_back(*value);
    else if (each.first.IsScalar())
      json[each.first.Scalar()] = *value;
    else
      return absl::InvalidArgumentError("a key is not a text");
  }
  return json;
}

absl::StatusOr<Json> ReadBase(const std::string& path) {
  constexpr std::size_t kMost = 1024 * 1024;  // bytes
  constexpr char kKind[] = "KubeProxyConfiguration";
  if (path.empty()) {
    return Json{{"apiVersion", "kubeproxy.config.k8s.io/v1alpha1"}, {"kind", kKind}};
  }
  const auto wrong = [&](std::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("--kube-proxy-config=", path, ": ", why,
                     "; give the cluster's: kubectl -n kube-system get configmap kube-proxy -o "
                     "jsonpath='{.data.config\\.conf}'"));
  };
  const absl::StatusOr<std::string> text = control::ReadFileText(path, kMost);
  if (!text.ok()) return wrong(text.status().message());
  absl::StatusOr<Json> json;
  try {
    int left = 10'000;
    json = JsonOf(YAML::Load(*text), left);
  } catch (const YAML::Exception& error) {
    return wrong(error.what());
  }
  if (!json.ok()) return wrong(json.status().message());
  if (!json->is_object() || json->value("kind", Json()) != Json(kKind))
    return wrong(absl::StrCat("its kind is not ", kKind));
  for (const char* key : {"winkernel", "featureGates"}) {
    const Json& part = (*json)[key];
    if (!part.is_null() && !part.is_object()) return wrong(absl::StrCat(key, " is not an object"));
  }
  return json;
}

absl::StatusOr<Json> KubeProxyConfig(const std::string& base, const SourceVip& vip) {
  absl::StatusOr<Json> json = ReadBase(base);
  if (!json.ok()) return json;
  (*json)["mode"] = "kernelspace";
  (*json)["featureGates"]["WinOverlay"] = true;
  (*json)["winkernel"]["networkName"] = vip.network;
  (*json)["winkernel"]["sourceVip"] = vip.address.ToString();
  return json;
}

ExitCode RunSourceVip(const SourceVipOptions& options, Io& io) {
  if (!options.base.empty() && options.output != kKubeProxyConfig) {
    return Fail(io, kSourceVipVerb,
                absl::InvalidArgumentError("--kube-proxy-config needs -o kube-proxy-config"));
  }
  absl::StatusOr<SourceVip> vip = absl::UnavailableError("");
  if (options.admin != "none") {
    const auto status = admin::AdminClient(EndpointOf(options.admin)).ReadStatus();
    if (status.ok())
      vip = OfDaemon(*status);
    else if (!absl::IsUnavailable(status.status()))
      return Fail(io, kSourceVipVerb, status.status());
    for (const CLI::Option* each : options.of_store)
      if (status.ok() && each->count() > 0)
        io.err << "flannelctl source-vip: " << each->get_name()
               << " has no effect while flanneld answers; --admin=none reads the store\n";
  }
  if (absl::IsUnavailable(vip.status())) vip = OfStore(options);
  if (!vip.ok()) {
    Fail(io, kSourceVipVerb, vip.status());
    return absl::IsNotFound(vip.status()) ? ExitCode::kFinding : ExitCode::kUnusable;
  }
  if (options.output == "text") {
    io.out << vip->address.ToString() << "\n";
    return ExitCode::kOk;
  }
  if (options.output == kKubeProxyConfig) {
    const absl::StatusOr<Json> config = KubeProxyConfig(options.base, *vip);
    if (!config.ok()) return Fail(io, kSourceVipVerb, config.status());
    io.out << ToYaml(*config);
    return ExitCode::kOk;
  }
  const std::string json = cni::SourceVipJson(vip->address, vip->subnet);
  io.out << (options.output == "json" ? json : ToYaml(Json::parse(json)));
  return ExitCode::kOk;
}

}  // namespace

Action AddSourceVip(CLI::App& parser) {
  auto options = std::make_shared<SourceVipOptions>();
  AddOutputOption(parser, options->output, {"text", "json", "yaml", kKubeProxyConfig},
                  "Form of the output: the address, sourceVip.json, or kube-proxy's configuration");
  AddOption(parser, "--kube-proxy-config", options->base, "PATH",
            "With -o kube-proxy-config: the cluster's own KubeProxyConfiguration, in which mode, "
            "WinOverlay, networkName and sourceVip are set");
  AddAdminOption(parser, options->admin);
  options->of_store = {
      AddOption(parser, "--source-vip-store", options->store, "PATH",
                "Without a running flanneld: the folder of its --source-vip-store"),
      AddOption(parser, "--network", options->network, "NAME",
                "Without a running flanneld: the HNS network"),
      AddOption(parser, "--subnet-file", options->subnet_file, "PATH",
                "Without a running flanneld: the file of its --subnet-file")};
  parser.footer(
      "Exit code: 0 printed, 1 none is reserved, 2 unusable input, or flanneld's answer\n"
      "cannot be read.\n\n"
      "Examples:\n"
      "  flannelctl source-vip\n"
      "  flannelctl source-vip -o json\n"
      "  flannelctl source-vip -o kube-proxy-config --kube-proxy-config=config.conf");
  return [options](Io& io) { return RunSourceVip(*options, io); };
}

}  // namespace weft::cli
