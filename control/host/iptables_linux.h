// SPDX-License-Identifier: Apache-2.0
// Our rules in chain FORWARD of the legacy tables (before nf_tables), put by the program
// iptables-legacy, as upstream does: that kernel interface replaces a whole table, under a lock
// file, and its library, libiptc, is under the GPL.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/host/packet_filter.h"

namespace weft::host {

// Whether the rules with `comment`, a single word, are exactly `rules`, for each family; a family
// without legacy tables needs none. Neither runs a program nor creates a table where no legacy
// table exists. PermissionDenied: whether there is one may not be read.
absl::StatusOr<bool> HasLegacyForward(const std::vector<FilterRule>& rules,
                                      std::string_view comment);
// Replaces the rules with `comment` by `rules`; new ones are appended to the chain. If it fails
// halfway, no existing desired rule is lost. Neither function waits for a program that holds the
// lock of the tables: Unavailable. A run that takes too long: DeadlineExceeded.
absl::Status PutLegacyForward(const std::vector<FilterRule>& rules, std::string_view comment);

}  // namespace weft::host
