// SPDX-License-Identifier: Apache-2.0
#include "control/underlay/own_underlay.h"

#include "absl/strings/str_cat.h"
#include "vxlan/text/printable.h"

namespace weft::underlay {
namespace {

// The annotation wins over the flag. With a file of leases nothing is published: peers send to the
// address in it.
std::string PublicIp(const config::Options& options, const std::string& flag,
                     const lease::OwnNodeFamily& own, const HostFacts& host) {
  if (!own.node_public_ip.empty()) return own.node_public_ip;
  if (options.kube_subnet_mgr) return flag;
  const std::optional<IpAddress>& published = own.published_public_ip;
  const bool here = published && OwnerOf(*published, host.adapters, host.own_devices);
  return flag.empty() && here ? published->ToString() : flag;
}

// The Node's owner can correct it while we wait, unlike a flag.
absl::Status CheckNodePublicIp(const lease::OwnNode& node, IpFamily family) {
  const bool v4 = family == IpFamily::kV4;
  const std::string& text = v4 ? node.v4.node_public_ip : node.v6.node_public_ip;
  if (text.empty() || kube::ParsePublicIp(text, family)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("annotation node-public-ip", v4 ? "" : "v6",
                                                    " of node ", Quoted(node.node.name), " is ",
                                                    Quoted(text), ", not an ", v4 ? "IPv4" : "IPv6",
                                                    " address of one host; correct or remove it"));
}

// Under host-gw peers use that address as a gateway (upstream v0.28.9 refuses the same).
absl::Status CheckGateway(const InterfaceChoice& choice, const std::optional<lease::OwnNode>& node,
                          const HostFacts& host) {
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const std::optional<ChosenFamily>& chosen = choice.of(family);
    if (!chosen) continue;
    const host::Adapter* const owner = ByIndex(choice.index, host.adapters);
    if (owner && Find(*owner, chosen->public_ip)) continue;
    const bool v4 = family == IpFamily::kV4;
    const bool by_node = node && !(v4 ? node->v4 : node->v6).node_public_ip.empty();
    const std::string message = absl::StrCat(
        "peers would route to ", chosen->public_ip.ToString(), ", but ", choice.name, " has ",
        chosen->address.ToString(), ", and host-gw does not work through NAT: correct ",
        by_node ? "the annotation node-public-ip" : "--public-ip", v4 ? "" : "v6",
        " or --iface, or use vxlan");
    return by_node ? absl::FailedPreconditionError(message) : absl::InvalidArgumentError(message);
  }
  return absl::OkStatus();
}

void Overwrite(std::optional<ChosenFamily>& chosen, const lease::OwnNodeFamily& own) {
  if (!chosen) return;
  const auto overwrite = kube::ParsePublicIp(own.public_ip_overwrite, chosen->address.family());
  if (!overwrite) return;
  chosen->public_ip = *overwrite;
  chosen->configured = true;
}

bool IsWindows(const config::Options& options) {
  return options.data_plane == config::DataPlane::kHns ||
         config::DefaultDataPlane() == config::DataPlane::kHns;
}

}  // namespace

absl::StatusOr<InterfaceChoice> ChooseUnderlay(const config::Options& options,
                                               const control::NetConf& conf,
                                               const std::optional<lease::OwnNode>& node,
                                               const HostFacts& host, UnderlayKeeper* keeper,
                                               const InterfaceChoice* current,
                                               control::TimePoint now) {
  InterfaceRequest request{conf.enable_ipv4,
                           conf.enable_ipv6,
                           options.iface,
                           options.iface_regex,
                           options.iface_can_reach,
                           options.public_ip,
                           options.public_ipv6,
                           {},
                           {},
                           IsWindows(options)};
  if (node) {
    request.node_ips = node->internal_ips;
    for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
      if (!conf.enabled(family)) continue;
      const lease::OwnNodeFamily& own = family == IpFamily::kV4 ? node->v4 : node->v6;
      if (own.published_public_ip) request.published.push_back(*own.published_public_ip);
      if (own.subnet) request.pod_subnets.push_back(*own.subnet);
      if (absl::Status status = CheckNodePublicIp(*node, family); !status.ok()) return status;
    }
    if (conf.enable_ipv4) request.public_ip = PublicIp(options, options.public_ip, node->v4, host);
    if (conf.enable_ipv6)
      request.public_ipv6 = PublicIp(options, options.public_ipv6, node->v6, host);
  }
  absl::StatusOr<InterfaceChoice> choice =
      keeper ? keeper->Keep(request, host, current, now) : ChooseInterface(request, host);
  if (choice.ok() && conf.type == control::BackendType::kHostGw) {
    if (absl::Status status = CheckGateway(*choice, node, host); !status.ok()) return status;
  }
  if (choice.ok() && node) {
    Overwrite(choice->v4, node->v4);
    Overwrite(choice->v6, node->v6);
  }
  return choice;
}

std::string PublicIpCondition(const config::Options& options, const lease::OwnNode& node,
                              const InterfaceChoice& choice) {
  std::string condition;
  for (const IpAddress& ip : node.internal_ips) {
    const std::optional<IpPrefix>& pods = (ip.is_v4() ? node.v4 : node.v6).subnet;
    const std::optional<ChosenFamily>& chosen = choice.of(ip.family());
    if (!pods || !pods->Contains(ip) || !chosen) continue;
    condition = absl::StrCat("the kubelet reports InternalIP ", ip.ToString(), ", a pod's, in ",
                             pods->ToString(), ": the API server does not reach the kubelet; ",
                             "start it with --node-ip=", chosen->address.ToString());
  }
  if (options.kube_subnet_mgr) return condition;
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const lease::OwnNodeFamily& own = family == IpFamily::kV4 ? node.v4 : node.v6;
    const std::optional<ChosenFamily>& chosen = choice.of(family);
    const std::optional<IpAddress>& published = own.published_public_ip;
    if (!chosen || !published || !own.public_ip_overwrite.empty()) continue;
    if (*published == chosen->public_ip) continue;
    absl::StrAppend(&condition, condition.empty() ? "" : "; ", "the leases announce this node as ",
                    published->ToString(), ", but ",
                    !own.node_public_ip.empty() ? "the annotation node-public-ip"
                    : chosen->configured        ? "--public-ip"
                                                : "the interface",
                    family == IpFamily::kV6 && chosen->configured ? "v6 gives " : " gives ",
                    chosen->public_ip.ToString(), " on ", choice.name,
                    ": peers send to the wrong address; make the two equal");
  }
  return condition;
}

std::string LinkCondition(const InterfaceChoice& choice, const HostFacts& host) {
  const host::Adapter* const adapter = ByIndex(choice.index, host.adapters);
  if (adapter == nullptr || (adapter->up && adapter->link)) return "";
  return absl::StrCat(
      "the interface ", choice.name, adapter->up ? " has no link" : " is down",
      ", so no peer is reached through it: ", adapter->up ? "connect it" : "bring it up",
      ", or choose another with --iface");
}

std::string MtuCondition(const InterfaceChoice& choice, const control::NetConf& conf) {
  if (!conf.mtu || conf.mtu->bytes() <= choice.mtu.bytes()) return "";
  return absl::StrCat(
      "Backend.MTU ", conf.mtu->bytes(), " of net-conf exceeds the MTU of ", choice.name, ", ",
      choice.mtu.bytes(),
      ", which limits the pods' instead; pods that run keep the MTU that they have: reduce "
      "Backend.MTU, or raise the MTU of the whole path");
}

kube::Publication PublicationOf(const control::OwnFacts& facts, const control::NetConf& conf,
                                const InterfaceChoice& choice) {
  kube::Publication publication;
  publication.backend_type = Name(conf.type);
  publication.vni = conf.vni;
  publication.without_v6 = conf.ipv6_left_out;
  for (IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const std::optional<control::OwnFamilyFacts>& own = facts.of(family);
    if (!own) continue;
    kube::PublishedFamily half{choice.of(family)->public_ip, std::nullopt};
    if (conf.type == control::BackendType::kVxlan) half.vtep_mac = own->vtep_mac;
    (family == IpFamily::kV4 ? publication.v4 : publication.v6) = half;
  }
  return publication;
}

}  // namespace weft::underlay
