// SPDX-License-Identifier: Apache-2.0
#include "control/cli/cni/service_cidrs.h"

#include <boost/asio/io_context.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/kube/client/api_call.h"
#include "control/kube/client/api_client.h"
#include "control/kube/codec/api_status.h"
#include "nlohmann/json.hpp"
#include "vxlan/text/printable.h"
#include "yaml-cpp/yaml.h"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kList[] = "/apis/networking.k8s.io/v1/servicecidrs";
constexpr char kKubeadm[] = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config";
constexpr char kApiService[] = "/api/v1/namespaces/default/services/kubernetes";
constexpr char kUserAgent[] = "flannelctl/" WEFT_VERSION " (weft)";

absl::Status Append(std::string_view text, std::vector<IpPrefix>& out) {
  const auto prefix = IpPrefix::Parse(text);
  if (!prefix) return absl::DataLossError(absl::StrCat(Quoted(text), " is no CIDR"));
  out.push_back(*prefix);
  return absl::OkStatus();
}

// The body of an answer with status 200.
absl::StatusOr<std::string> Get(boost::asio::io_context& io, kube::ApiClient& client,
                                const char* target, std::chrono::milliseconds limit) {
  absl::StatusOr<kube::ApiAnswer> answer = absl::UnavailableError("no answer");
  kube::HttpRequest request;
  request.target = target;
  const kube::ApiCall call(client, std::move(request), limit,
                           [&](absl::StatusOr<kube::ApiAnswer> got) {
                             answer = std::move(got);
                             io.stop();
                           });
  io.restart();
  io.run();
  if (!answer.ok()) return answer.status();
  if (answer->status == 200) return std::move(answer->body);
  const kube::ApiStatus status =
      kube::DecodeApiStatus(answer->status, answer->content_type, answer->body);
  return absl::NotFoundError(absl::StrCat(answer->status, " ", status.message));
}

}  // namespace

absl::StatusOr<std::vector<IpPrefix>> ServiceCidrsOf(std::string_view json) {
  const Json list = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  const Json* const items = list.is_object() && list.contains("items") ? &list["items"] : nullptr;
  if (!items || !items->is_array()) return absl::DataLossError("it is no list");
  std::vector<IpPrefix> found;
  for (const Json& item : *items) {
    static const Json::json_pointer kCidrs("/spec/cidrs");
    const Json cidrs = item.is_object() ? item.value(kCidrs, Json()) : Json();
    if (!cidrs.is_array()) return absl::DataLossError("a ServiceCIDR has no spec.cidrs");
    for (const Json& each : cidrs) {
      if (absl::Status status =
              Append(each.is_string() ? each.get_ref<const std::string&>() : "", found);
          !status.ok())
        return status;
    }
  }
  if (found.empty()) return absl::NotFoundError("it has none");
  return found;
}

absl::StatusOr<std::vector<IpPrefix>> KubeadmServiceCidrs(std::string_view json) {
  static const Json::json_pointer kText("/data/ClusterConfiguration");
  const Json map = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  const Json text = map.is_object() ? map.value(kText, Json()) : Json();
  if (!text.is_string()) return absl::DataLossError("it has no data.ClusterConfiguration");
  std::string subnets;
  try {
    const YAML::Node config = YAML::Load(text.get<std::string>());
    if (config.IsMap() && config["networking"].IsMap() &&
        config["networking"]["serviceSubnet"].IsScalar())
      subnets = config["networking"]["serviceSubnet"].Scalar();
  } catch (const YAML::Exception& error) {
    return absl::DataLossError(
        absl::StrCat("data.ClusterConfiguration is no YAML: ", error.what()));
  }
  if (subnets.empty()) return absl::NotFoundError("it has no networking.serviceSubnet");
  std::vector<IpPrefix> found;
  for (const std::string_view each : absl::StrSplit(subnets, ','))
    if (absl::Status status = Append(each, found); !status.ok()) return status;
  return found;
}

absl::StatusOr<std::vector<IpPrefix>> ReadServiceCidrs(kube::ClusterServers servers,
                                                       std::chrono::milliseconds limit) {
  boost::asio::io_context io;
  kube::ApiClient client(io, std::move(servers), kUserAgent);
  const absl::StatusOr<std::string> list = Get(io, client, kList, limit);
  if (!list.ok() && !absl::IsNotFound(list.status())) return list.status();
  absl::StatusOr<std::vector<IpPrefix>> found =
      list.ok() ? ServiceCidrsOf(*list) : absl::StatusOr<std::vector<IpPrefix>>(list.status());
  if (found.ok()) return found;
  const absl::StatusOr<std::string> map = Get(io, client, kKubeadm, limit);
  absl::StatusOr<std::vector<IpPrefix>> from_kubeadm =
      map.ok() ? KubeadmServiceCidrs(*map) : absl::StatusOr<std::vector<IpPrefix>>(map.status());
  if (from_kubeadm.ok()) return from_kubeadm;
  return absl::NotFoundError(absl::StrCat("the API server does not tell the service CIDR: ", kList,
                                          ": ", found.status().message(), "; ", kKubeadm, ": ",
                                          from_kubeadm.status().message()));
}

absl::StatusOr<IpAddress> ApiServiceOf(std::string_view json) {
  static const Json::json_pointer kAll("/spec/clusterIPs"), kFirst("/spec/clusterIP");
  const Json service = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!service.is_object()) return absl::DataLossError("it is no Service");
  Json addresses = service.value(kAll, Json());
  if (!addresses.is_array()) addresses = Json::array({service.value(kFirst, Json())});
  for (const Json& each : addresses) {
    const auto address =
        IpAddress::Parse(each.is_string() ? each.get_ref<const std::string&>() : "");
    if (address && address->is_v4()) return *address;
  }
  return absl::NotFoundError("the Service kubernetes has no IPv4 address");
}

absl::StatusOr<IpAddress> ReadApiService(kube::ClusterServers servers,
                                         std::chrono::milliseconds limit) {
  boost::asio::io_context io;
  kube::ApiClient client(io, std::move(servers), kUserAgent);
  const absl::StatusOr<std::string> service = Get(io, client, kApiService, limit);
  return service.ok() ? ApiServiceOf(*service) : absl::StatusOr<IpAddress>(service.status());
}

}  // namespace weft::cli
