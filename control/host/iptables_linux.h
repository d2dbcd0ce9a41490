// SPDX-License-Identifier: Apache-2.0
// Our rules in chain FORWARD of the tables before nf_tables, through the program iptables-legacy as
// upstream's are: that interface of the kernel replaces a table as whole, under a lock in a file,
// and its library, libiptc, is under the GPL.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/host/packet_filter.h"

namespace weft::host {

// Whether the rules with `comment`, a word, are these, family by family; in a family without that
// table none are missing. Reads nothing, and makes no table, where no program ever did.
absl::StatusOr<bool> HasLegacyForward(const std::vector<FilterRule>& rules,
                                      std::string_view comment);
// Puts these in the place of those with `comment`; what is new goes to the end of the chain. Where
// it fails half-way, none is missing that was there and is desired. Neither waits for a program
// that has the lock of the tables: Unavailable; one that takes too long: DeadlineExceeded.
absl::Status PutLegacyForward(const std::vector<FilterRule>& rules, std::string_view comment);

}  // namespace weft::host
