// SPDX-License-Identifier: Apache-2.0
// The JSON text of a Node, as the API server writes it, in one expression.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::testing {

class NodeJson {
 public:
  explicit NodeJson(std::string name) : name_(std::move(name)) {}

  NodeJson& Uid(std::string uid) { return uid_ = std::move(uid), *this; }
  NodeJson& Created(std::string time) { return created_ = std::move(time), *this; }
  NodeJson& Managed() { return Annotation("kube-subnet-manager", "true"); }
  // `key` without flannel's prefix.
  NodeJson& Annotation(const std::string& key, std::string value) {
    annotations_["flannel.alpha.coreos.com/" + key] = std::move(value);
    return *this;
  }
  NodeJson& PodCidrs(const std::vector<std::string>& cidrs) {
    std::string list;
    for (const std::string& cidr : cidrs) list += (list.empty() ? "" : ",") + Escaped(cidr);
    return Spec("{\"podCIDR\":" + Escaped(cidrs.at(0)) + ",\"podCIDRs\":[" + list + "]}");
  }
  NodeJson& Spec(std::string json) { return spec_ = std::move(json), *this; }
  // A complete vxlan lease under VNI 4096.
  NodeJson& Leased(const std::string& cidr, std::string public_ip,
                   const std::string& mac = "02:00:00:00:00:01") {
    return Managed()
        .PodCidrs({cidr})
        .Annotation("backend-type", "vxlan")
        .Annotation("backend-data", R"({"VNI":4096,"VtepMAC":")" + mac + "\"}")
        .Annotation("public-ip", std::move(public_ip));
  }

  std::string Text() const {
    std::string text = R"({"apiVersion":"v1","kind":"Node","metadata":{"name":)" + Escaped(name_);
    if (!uid_.empty()) text += ",\"uid\":" + Escaped(uid_);
    if (!created_.empty()) text += ",\"creationTimestamp\":" + Escaped(created_);
    text += ",\"annotations\":{";
    const char* comma = "";
    for (const auto& [key, value] : annotations_) {
      text += comma + Escaped(key) + ":" + Escaped(value);
      comma = ",";
    }
    return text + "}},\"spec\":" + spec_ + R"(,"status":{"conditions":[]}})";
  }

 private:
  static std::string Escaped(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return quoted + "\"";
  }

  std::string name_, uid_, created_;
  std::map<std::string, std::string> annotations_;
  std::string spec_ = "{}";
};

// As `kubectl get nodes -o json` prints it.
inline std::string NodeListJson(const std::vector<NodeJson>& nodes) {
  std::string items;
  for (const NodeJson& node : nodes) items += (items.empty() ? "\n    " : ",\n    ") + node.Text();
  return R"({"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":""},"items":[)" + items +
         "\n]}\n";
}

}  // namespace weft::testing
