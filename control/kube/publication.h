// SPDX-License-Identifier: Apache-2.0
// What peers are to read of us, and how it stands in our Node's annotations. Pure.
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
  IpAddress public_ip;  // the detected one; public-ip-overwrite in the Node goes over it
  // Under vxlan; other backends publish "null".
  std::optional<MacAddress> vtep_mac;
  friend bool operator==(const PublishedFamily&, const PublishedFamily&) = default;
};

struct Publication {
  std::string backend_type;  // lower case: Linux peers compare it with "vxlan" as it stands
  Vni vni = kFlannelWindowsVni;
  std::optional<PublishedFamily> v4, v6;
  bool without_v6 = false;  // what the Node says of IPv6, from before, is removed
  friend bool operator==(const Publication&, const Publication&) = default;
};

// A public-ip as peers read it: of that family, of one host, no IPv4 address in IPv6's clothes.
std::optional<IpAddress> ParsePublicIp(std::string_view text, IpFamily family);

// Peers could use it: a family, and under vxlan a MAC in each. Anything less is never published.
bool IsComplete(const Publication& publication);

// The annotations that `node` should have for a complete `publication`; the empty text stands for
// none. An overwrite that is no
// address of one host of its family does not count and is named, in a sentence, in `problems`.
Annotations DesiredAnnotations(const AnnotationKeys& keys, const Publication& publication,
                               const lease::OwnNode& node, std::vector<std::string>& problems);
// Those it has, of all that we may ever write; the empty text stands for none.
Annotations ShownAnnotations(const AnnotationKeys& keys, const lease::OwnNode& node);

}  // namespace weft::kube
