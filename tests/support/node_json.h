// SPDX-License-Identifier: Apache-2.0
// Nodes, lists, watch events and a Status in JSON, as the API server writes them.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/node_facts.h"

namespace weft::testing {

// Any bytes below 0x80 but control bytes.
inline std::string JsonString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// Raw parts that NodeFacts cannot express: any spec, invalid times.
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
    for (const std::string& cidr : cidrs) list += (list.empty() ? "" : ",") + JsonString(cidr);
    return Spec("{\"podCIDR\":" + JsonString(cidrs.at(0)) + ",\"podCIDRs\":[" + list + "]}");
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
    std::string text =
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":)" + JsonString(name_);
    if (!uid_.empty()) text += ",\"uid\":" + JsonString(uid_);
    if (!created_.empty()) text += ",\"creationTimestamp\":" + JsonString(created_);
    text += ",\"annotations\":{";
    const char* comma = "";
    for (const auto& [key, value] : annotations_) {
      text += comma + JsonString(key) + ":" + JsonString(value);
      comma = ",";
    }
    return text + "}},\"spec\":" + spec_ + R"(,"status":{"conditions":[]}})";
  }

 private:
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

// ---- the same from NodeFacts

inline std::string Rfc3339(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::string text(20, '\0');
  text.resize(
      std::strftime(text.data(), text.size() + 1, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&time)));
  return text;
}

inline std::string StringMapJson(const std::map<std::string, std::string>& map) {
  std::string text;
  for (const auto& [key, value] : map) {
    text += (text.empty() ? "{" : ",") + JsonString(key) + ":" + JsonString(value);
  }
  return text + "}";
}

// Without `typed`, as an item of a list: kind and apiVersion are the list's.
inline std::string NodeFactsJson(const NodeFacts& node, bool typed = true) {
  std::string text = typed ? R"({"kind":"Node","apiVersion":"v1",)" : "{";
  text += R"("metadata":{"name":)" + JsonString(node.name);
  if (!node.uid.empty()) text += R"(,"uid":)" + JsonString(node.uid);
  if (!node.version.empty()) text += R"(,"resourceVersion":)" + JsonString(node.version);
  text +=
      R"(,"creationTimestamp":)" + (node.created == 0 ? "null" : JsonString(Rfc3339(node.created)));
  if (node.images > 0) {
    text += R"(,"labels":)" + StringMapJson({{"kubernetes.io/arch", "arch"},
                                             {"kubernetes.io/hostname", "hostname"},
                                             {"kubernetes.io/os", "os"}});
  }
  if (!node.annotations.empty()) text += R"(,"annotations":)" + StringMapJson(node.annotations);
  if (node.images > 0) {
    std::string entry = R"({"manager":"kubelet","operation":"Update","apiVersion":"v1","time":)" +
                        JsonString(Rfc3339(node.created)) +
                        R"(,"fieldsType":"FieldsV1","fieldsV1":)" + ManagedFieldsText("kubelet") +
                        "}";
    text += R"(,"managedFields":[)" + entry + "," + entry + "," + entry + "]";
  }
  text += R"(},"spec":{)";
  if (!node.pod_cidr.empty()) text += R"("podCIDR":)" + JsonString(node.pod_cidr);
  if (!node.pod_cidrs.empty()) {
    text += node.pod_cidr.empty() ? R"("podCIDRs":)" : R"(,"podCIDRs":)";
    const char* before = "[";
    for (const std::string& cidr : node.pod_cidrs) {
      text += before + JsonString(cidr);
      before = ",";
    }
    text += "]";
  }
  text += R"(},"status":{"nodeInfo":{"machineID":""},"addresses":[)";
  for (const auto& [type, address] : node.addresses) {
    text += (&type == &node.addresses[0].first ? "" : ",") +
            (R"({"address":)" + JsonString(address)) + R"(,"type":)" + JsonString(type) + "}";
  }
  text += "]";
  for (const auto& [type, status, since] : node.conditions) {
    text += (type == node.conditions[0].type ? R"(,"conditions":[)" : ",") +
            (R"({"type":)" + JsonString(type)) + R"(,"status":)" + JsonString(status) +
            R"(,"lastHeartbeatTime":)" + JsonString(Rfc3339(since + 60)) +
            R"(,"lastTransitionTime":)" + JsonString(Rfc3339(since)) + "}";
  }
  if (!node.conditions.empty()) text += "]";
  const char* before = R"(,"images":[)";
  for (int i = 0; i < node.images; ++i) {
    const std::string number = std::to_string(i);
    text += before + (R"({"names":["registry.example.com/some/folder/image-)" + number);
    text += "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef01234567\",";
    text += R"("registry.example.com/some/folder/image-)" + number + R"(:v1.2.3"],"sizeBytes":)" +
            std::to_string(12'345'678 + i) + "}";
    before = ",";
  }
  return text + (node.images > 0 ? "]}}" : "}}");
}

inline std::string NodeListJson(const std::vector<NodeFacts>& nodes, std::string_view version,
                                std::string_view token = "") {
  std::string text = R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":)" +
                     JsonString(version);
  if (!token.empty()) text += R"(,"continue":)" + JsonString(token);
  text += R"(},"items":[)";
  const char* before = "";
  for (const NodeFacts& node : nodes) {
    text += before + NodeFactsJson(node, /*typed=*/false);
    before = ",";
  }
  return text + "]}\n";
}

inline std::string WatchEventJson(std::string_view type, std::string_view object) {
  return R"({"type":)" + JsonString(type) + R"(,"object":)" + std::string(object) + "}\n";
}

inline std::string NodeEventJson(std::string_view type, const NodeFacts& node) {
  return WatchEventJson(type, NodeFactsJson(node));
}

inline std::string BookmarkJson(std::string_view version, bool initial_events_end) {
  NodeFacts node("");
  node.version = version;
  if (initial_events_end) node.ForeignAnnotation("k8s.io/initial-events-end", "true");
  return NodeEventJson("BOOKMARK", node);
}

inline std::string StatusJson(const StatusFacts& status) {
  std::string text =
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)" +
      JsonString(status.message) + R"(,"reason":)" + JsonString(status.reason);
  if (status.retry_after != 0 || !status.cause_reason.empty() || !status.cause_message.empty()) {
    text += R"(,"details":{"kind":"nodes","causes":[{"reason":)" + JsonString(status.cause_reason) +
            R"(,"message":)" + JsonString(status.cause_message) + "}]";
    if (status.retry_after != 0) {
      text += R"(,"retryAfterSeconds":)" + std::to_string(status.retry_after);
    }
    text += "}";
  }
  return text + R"(,"code":)" + std::to_string(status.code) + "}\n";
}

inline std::string ErrorEventJson(const StatusFacts& status) {
  std::string body = StatusJson(status);
  body.pop_back();
  return WatchEventJson("ERROR", body);
}

}  // namespace weft::testing
