// SPDX-License-Identifier: Apache-2.0
// What the data plane does with a frame and why: the real forwarder's verdict, explained by the
// leases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/admin/schema.h"
#include "dataplane/forwarder.h"
#include "vxlan/describe.h"

namespace weft::cli {

struct JudgeOptions {
  OuterMtu link_mtu = *OuterMtu::From(1500);
  dataplane::PeerCheck peer_check = dataplane::PeerCheck::kLease;
  std::optional<std::uint16_t> port = kVxlanPort;  // UDP; empty: the frame's, or the usual one
};

struct Judgement {
  bool outbound = false;  // pod to wire
  dataplane::Verdict verdict{};
  std::vector<std::string> reasons;  // sentences without a full stop
};

// A frame that begins with an inner layer, or that this node has sent, is judged on its way to the
// wire, any other on its way to the pods. An outer UDP checksum that was left to a device counts as
// right. An error means that there is no verdict, and names what is missing.
absl::StatusOr<Judgement> Judge(Bytes frame, FrameStart start, const admin::LeaseList& leases,
                                const JudgeOptions& options);

}  // namespace weft::cli
