// SPDX-License-Identifier: Apache-2.0
#include "tests/control/cli/call.h"

#include <sstream>

#include "control/cli/flannelctl.h"
#include "nlohmann/json.hpp"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

Json Node(const std::string& name, const std::string& cidr, const std::string& public_ip,
          const std::string& mac) {
  const std::string prefix = "flannel.alpha.coreos.com/";
  const Json backend{{"VNI", 4096}, {"VtepMAC", mac}};
  Json node{{"metadata",
             {{"name", name},
              {"uid", "uid-" + name},
              {"creationTimestamp", "2026-01-01T00:00:00Z"},
              {"annotations",
               {{prefix + "kube-subnet-manager", "true"},
                {prefix + "backend-type", "vxlan"},
                {prefix + "public-ip", public_ip},
                {prefix + "backend-data", backend.dump()}}}}},
            {"spec", {{"podCIDR", cidr}, {"podCIDRs", Json::array({cidr})}}}};
  return node;
}

}  // namespace

Outcome Call(std::vector<std::string> arguments, const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Io io{in, out, err};
  Outcome outcome;
  outcome.code = static_cast<int>(RunFlannelctl(std::move(arguments), io));
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

std::string SampleNodes() {
  Json both = Node("linux-1", "10.244.1.0/24", "192.0.2.1", "5e:00:00:00:00:01");
  both["spec"]["podCIDRs"].push_back("fd00:244:1::/64");
  both["metadata"]["annotations"]["flannel.alpha.coreos.com/public-ipv6"] = "2001:db8::1";
  both["metadata"]["annotations"]["flannel.alpha.coreos.com/backend-v6-data"] =
      R"({"VNI":4096,"VtepMAC":"5e:00:00:00:06:01"})";
  const Json items = Json::array({
      Node("win-1", "10.244.4.0/24", "192.0.2.4", "00:15:5d:00:00:04"),
      both,
      Node("linux-2", "10.244.2.0/24", "192.0.2.2", ""),
      Node("broken", "10.244.300.0/24", "192.0.2.9", "5e:00:00:00:00:09"),
  });
  return Json{{"apiVersion", "v1"}, {"kind", "NodeList"}, {"items", items}}.dump(1);
}

}  // namespace weft::cli
