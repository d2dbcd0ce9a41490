// SPDX-License-Identifier: Apache-2.0
// The lease that we publish to peers, and its form in our Node's annotations. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/kube/codec/annotation_keys.h"
#include "control/kube/node_patch.h"
#include "control/lease/own_node.h"
#include "vxlan/ip_address.h"
#include "vxlan/mac_address.h"
#include "vxlan/vni.h"

namespace weft::kube {

struct PublishedFamily {
  IpAddress public_ip;  // the detected one; public-ip-overwrite in the Node replaces it
  // Under vxlan; other backends publish "null".
  std::optional<MacAddress> vtep_mac;
  friend bool operator==(const PublishedFamily&, const PublishedFamily&) = default;
};

struct Publication {
  std::string backend_type;  // lower case: Linux peers compare it with "vxlan" byte by byte
  Vni vni = kFlannelWindowsVni;
  std::optional<PublishedFamily> v4, v6;
  bool without_v6 = false;  // remove the Node's former IPv6 annotations
  friend bool operator==(const Publication&, const Publication&) = default;
};

// A public-ip as peers read it: of that family, of one host, not an IPv4-mapped IPv6 address.
std::optional<IpAddress> ParsePublicIp(std::string_view text, IpFamily family);

// Whether peers can use it: at least one family, and under vxlan a MAC in each. An incomplete one
// is never published.
bool IsComplete(const Publication& publication);

// The annotations that `node` should have for a complete `publication`; an empty text means no
// annotation. An overwrite that is not an address of one host of its family is ignored and
// reported, as a sentence, in `problems`.
Annotations DesiredAnnotations(const AnnotationKeys& keys, const Publication& publication,
                               const lease::OwnNode& node, std::vector<std::string>& problems);
// The annotations that `node` has, of those that we may write; an empty text means none.
Annotations ShownAnnotations(const AnnotationKeys& keys, const lease::OwnNode& node);

}  // namespace weft::kube
