// SPDX-License-Identifier: Apache-2.0
// The files that flanneld wrote on this node, and how to delete them: for `reset --all` and
// `uninstall`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "control/cli/verb.h"

namespace weft::cli {

// Paths are UTF-8; an empty one names nothing.
struct NodeFiles {
  std::string subnet_file, source_vip_store, source_vip_file, log_dir, state_dir;
  std::vector<std::string> networks;  // names of folders in the store
};

// One change of the file system.
struct Deletion {
  std::string what;  // "/run/flannel/subnet.env"
  std::function<absl::Status()> apply;
};

// What exists now, in the order in which to delete it: after any part of it, a second
// FindDeletions has the rest.
struct Deletions {
  std::vector<Deletion> rows;
  std::vector<std::string> kept;  // "PATH: why it stays"
};

// Everything but `state_dir`. Files of other programs, and folders that have some, are kept. The
// folders above stay, also where flanneld made them.
Deletions FindDeletions(const NodeFiles& files);
// The journal, the ledger and `state_dir`. The process lock in it must be released before.
Deletions FindStateDeletions(const NodeFiles& files);

// The addresses in `files`' folders of host-local that containers have, as "ADDRESS (CONTAINER)".
std::vector<std::string> ContainersIn(const NodeFiles& files);

// Deletes, or with `dry_run` prints what would be; a line for each on `io`.out. The first failure
// ends it, is on `io`.err as `verb`'s with the next step, and gives false.
bool Delete(const Deletions& deletions, bool dry_run, std::string_view verb, Io& io);

}  // namespace weft::cli
