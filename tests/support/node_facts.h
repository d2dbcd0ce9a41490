// SPDX-License-Identifier: Apache-2.0
// A Node and a Status as values, for tests that write them in either encoding.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::testing {

struct NodeFacts {
  std::string name;
  std::string uid;
  std::string version;
  std::int64_t created = 0;
  std::string pod_cidr;
  std::vector<std::string> pod_cidrs;
  std::map<std::string, std::string> annotations;
  std::vector<std::pair<std::string, std::string>> addresses;  // type, address
  struct Condition {
    std::string type, status;
    std::int64_t since = 0;
  };
  std::vector<Condition> conditions;
  int images = 0;  // how much there is that no lease needs: 50 make some 9 KB

  explicit NodeFacts(std::string its_name) : name(std::move(its_name)) {}

  NodeFacts& Uid(std::string value) { return uid = std::move(value), *this; }
  NodeFacts& Version(std::string value) { return version = std::move(value), *this; }
  NodeFacts& Created(std::int64_t unix_seconds) { return created = unix_seconds, *this; }
  NodeFacts& PodCidr(std::string value) { return pod_cidr = std::move(value), *this; }
  // podCIDR is the first of them, as the API server requires.
  NodeFacts& PodCidrs(std::vector<std::string> values) {
    pod_cidr = values.at(0);
    return pod_cidrs = std::move(values), *this;
  }
  // `key` without flannel's prefix.
  NodeFacts& Annotation(const std::string& key, std::string value) {
    return ForeignAnnotation("flannel.alpha.coreos.com/" + key, std::move(value));
  }
  NodeFacts& ForeignAnnotation(const std::string& key, std::string value) {
    return annotations[key] = std::move(value), *this;
  }
  NodeFacts& Managed() { return Annotation("kube-subnet-manager", "true"); }
  // A complete vxlan lease under VNI 4096.
  NodeFacts& Leased(const std::string& cidr, std::string public_ip,
                    const std::string& mac = "02:00:00:00:00:01") {
    return Managed()
        .PodCidrs({cidr})
        .Annotation("backend-type", "vxlan")
        .Annotation("backend-data", R"({"VNI":4096,"VtepMAC":")" + mac + "\"}")
        .Annotation("public-ip", std::move(public_ip));
  }
  NodeFacts& Address(std::string type, std::string address) {
    return addresses.emplace_back(std::move(type), std::move(address)), *this;
  }
  NodeFacts& Is(std::string type, std::string status, std::int64_t since) {
    return conditions.push_back({std::move(type), std::move(status), since}), *this;
  }
  // As large as real ones are: labels, foreign annotations, managedFields, images.
  NodeFacts& Large() {
    images = 50;
    ForeignAnnotation("node.alpha.kubernetes.io/ttl", "0");
    ForeignAnnotation("volumes.kubernetes.io/controller-managed-attach-detach", "true");
    return ForeignAnnotation("csi.volume.kubernetes.io/nodeid", R"({"csi.example.com":"i-0[{"})");
  }
};

struct StatusFacts {
  int code = 0;
  std::string reason;
  std::string message;
  int retry_after = 0;  // seconds; zero: not sent
  std::string cause_reason;
  std::string cause_message;
};

// What the API server writes where it manages fields: JSON within either encoding.
inline std::string ManagedFieldsText(std::string_view manager) {
  return R"({"f:metadata":{"f:annotations":{".":{},"f:)" + std::string(manager) +
         R"(/x":{}},"f:labels":{".":{},"f:kubernetes.io/arch":{},"f:kubernetes.io/os":{}}},)"
         R"("f:spec":{"f:podCIDR":{},"f:podCIDRs":{".":{},"v:\"10.244.0.0/24\"":{}}}})";
}

}  // namespace weft::testing
