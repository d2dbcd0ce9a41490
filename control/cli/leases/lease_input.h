// SPDX-License-Identifier: Apache-2.0
// Where a verb gets leases: a running flanneld, or a file with Nodes judged by the same table that
// flanneld uses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "control/admin/schema.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct LeaseOptions {
  std::string admin;      // endpoint of a running flanneld; empty: the default one
  std::string from;       // file; empty: from flanneld
  std::string node_name;  // the Node that is this node; with `from` only
  std::uint32_t vni = 4096;
  std::string annotation_prefix = "flannel.alpha.coreos.com";
};

// Adds --admin, --from, --node-name, --vni and --kube-annotation-prefix.
void AddLeaseOptions(CLI::App& parser, LeaseOptions& options);

// One thread. Both block.
class LeaseInput {
 public:
  virtual ~LeaseInput() = default;
  virtual absl::StatusOr<admin::LeaseList> Read() = 0;
  // Returns when the generation differs from that of the last list returned, or after some time.
  // Errors of the file (it is being replaced) are waited out; the end of flanneld is an error.
  virtual absl::StatusOr<admin::LeaseList> ReadNext() = 0;
};

// Refuses a VNI above 24 bits and an unusable prefix.
absl::StatusOr<std::unique_ptr<LeaseInput>> OpenLeases(const LeaseOptions& options);

}  // namespace weft::cli
