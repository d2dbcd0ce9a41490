// SPDX-License-Identifier: Apache-2.0
// What the ledger says is ours, taken away again; nothing else.
#pragma once

#include <string>
#include <vector>

#include "control/ledger.h"
#include "hns/client.h"

namespace weft::cli {

struct UndoOptions {
  bool dry_run = false;
  // The base network stays, and with it the vSwitch: the node is not cut off for seconds.
  bool keep_vswitch = false;
};

struct Undone {
  std::vector<std::string> lines;   // one for each entry, in the order of the work
  std::vector<std::string> failed;  // what still stands, and why
};

// Endpoints before networks, the base network last. An entry goes from the ledger once its thing is
// gone, so that a second run, and one that dies, do no harm. What was adopted stays, and its entry.
Undone Undo(hns::Client& client, control::Ledger& ledger, const UndoOptions& options);

}  // namespace weft::cli
