// SPDX-License-Identifier: Apache-2.0
// The expected lease table, computed from the API server's Nodes without our codecs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/lease/lease_table.h"
#include "tests/support/fake_api_server.h"
#include "tests/support/lease_makers.h"

namespace weft::testing {

inline lease::OwnIdentity OwnIdentityOf(std::string_view name) {
  lease::OwnIdentity own;
  own.node_name = name;
  own.v4 = {Prefix("10.244.255.0/24"), Prefix("10.244.0.0/16")};
  return own;
}

// Of a node made by NodeFacts::Leased.
inline lease::Lease LeaseOf(const NodeFacts& node) {
  const auto annotation = [&node](const std::string& key) {
    return node.annotations.at("flannel.alpha.coreos.com/" + key);
  };
  lease::Lease made;
  made.node = {node.name, node.uid};
  made.created = node.created;
  made.backend_type = annotation("backend-type");
  const std::string data = annotation("backend-data");
  const std::string mac = data.substr(data.find("VtepMAC") + 10, 17);
  made.v4 = HalfLease(node.pod_cidr, annotation("public-ip"), mac);
  return made;
}

inline bool IsManaged(const NodeFacts& node) {
  return node.annotations.contains("flannel.alpha.coreos.com/kube-subnet-manager");
}

// A line for each row.
inline std::string Text(const lease::LeaseTable& table) {
  std::string text;
  for (const lease::LeaseRow& row : table.Rows()) {
    text += row.node.name + "/" + row.node.uid + " " + row.lease.subnet.ToString() + " " +
            row.lease.public_ip->ToString() + " " + row.lease.vtep_mac->ToString() + " " +
            std::string(lease::Name(row.state)) + "\n";
  }
  return text;
}

// The same of the table that should be.
inline std::string TrueText(const FakeApiServer::Nodes& nodes, lease::OwnIdentity own) {
  lease::LeaseTable table(std::move(own));
  for (const auto& [name, node] : nodes) {
    if (IsManaged(node)) table.Upsert(LeaseOf(node));
  }
  return Text(table);
}

}  // namespace weft::testing
