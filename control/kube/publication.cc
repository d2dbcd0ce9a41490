// SPDX-License-Identifier: Apache-2.0
#include "control/kube/publication.h"

#include "absl/strings/str_cat.h"
#include "control/kube/codec/backend_data.h"
#include "vxlan/ip_prefix.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

constexpr std::string_view kVxlan = "vxlan";

bool IsUsable(const MacAddress& mac) { return !mac.IsZero() && !mac.IsGroup(); }

std::string PublicIpText(const PublishedFamily& family, const std::string& overwrite_key,
                         const std::string& overwrite, std::vector<std::string>& problems) {
  if (overwrite.empty()) return family.public_ip.ToString();
  if (ParsePublicIp(overwrite, family.public_ip.family())) return overwrite;
  problems.push_back(absl::StrCat("annotation ", overwrite_key, " ", Quoted(overwrite),
                                  " is not an ", family.public_ip.is_v4() ? "IPv4" : "IPv6",
                                  " address of one host: peers receive ",
                                  family.public_ip.ToString(), " until it is corrected"));
  return family.public_ip.ToString();
}

std::string BackendDataText(const Publication& publication, const PublishedFamily& family) {
  return publication.backend_type == kVxlan ? EncodeBackendData(publication.vni, *family.vtep_mac)
                                            : "null";
}

}  // namespace

std::optional<IpAddress> ParsePublicIp(std::string_view text, IpFamily family) {
  static const IpPrefix kMapped = *IpPrefix::Parse("::ffff:0:0/96");
  const std::optional<IpAddress> address = IpAddress::Parse(text);
  if (!address || address->family() != family || address->IsUnspecified() ||
      address->IsMulticast() || address->IsBroadcast()) {
    return std::nullopt;
  }
  return kMapped.Contains(*address) ? std::nullopt : address;
}

bool IsComplete(const Publication& publication) {
  const auto usable = [&](const std::optional<PublishedFamily>& family) {
    return !family || publication.backend_type != kVxlan ||
           (family->vtep_mac && IsUsable(*family->vtep_mac));
  };
  return (publication.v4 || publication.v6) && usable(publication.v4) && usable(publication.v6);
}

Annotations DesiredAnnotations(const AnnotationKeys& keys, const Publication& publication,
                               const lease::OwnNode& node, std::vector<std::string>& problems) {
  Annotations desired;
  desired[keys.subnet_manager] = "true";
  desired[keys.backend_type] = publication.backend_type;
  if (publication.v4) {
    desired[keys.backend_data] = BackendDataText(publication, *publication.v4);
    desired[keys.public_ip] = PublicIpText(*publication.v4, keys.public_ip_overwrite,
                                           node.v4.public_ip_overwrite, problems);
  }
  if (publication.v6) {
    desired[keys.backend_v6_data] = BackendDataText(publication, *publication.v6);
    desired[keys.public_ipv6] = PublicIpText(*publication.v6, keys.public_ipv6_overwrite,
                                             node.v6.public_ip_overwrite, problems);
  } else if (publication.without_v6) {
    desired[keys.backend_v6_data] = desired[keys.public_ipv6] = "";
  }
  return desired;
}

Annotations ShownAnnotations(const AnnotationKeys& keys, const lease::OwnNode& node) {
  return {{keys.subnet_manager, node.managed ? "true" : ""}, {keys.backend_type, node.backend_type},
          {keys.backend_data, node.v4.backend_data},         {keys.public_ip, node.v4.public_ip},
          {keys.backend_v6_data, node.v6.backend_data},      {keys.public_ipv6, node.v6.public_ip}};
}

}  // namespace weft::kube
