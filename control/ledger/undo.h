// SPDX-License-Identifier: Apache-2.0
// What the ledger says is ours, taken away again; nothing else.
#pragma once

#include <string>
#include <vector>

#include "control/host/host.h"
#include "control/host/packet_filter.h"
#include "control/ledger/ledger.h"
#include "hns/client.h"

namespace weft::ledger {

struct UndoOptions {
  bool dry_run = false;
  // The base network stays, and with it the vSwitch: the node is not cut off for seconds.
  bool keep_vswitch = false;
  // Also under running pods.
  bool force = false;
};

// Where what was made exists. One that the ledger does not need may be null.
struct UndoPlaces {
  hns::Client* hns = nullptr;
  host::Host* host = nullptr;
  host::PacketFilter* filter = nullptr;
};
// Nothing in it that weft made, or took over.
bool ListsNothing(const Ledger& ledger);
bool NeedsHns(const Ledger& ledger);
bool NeedsHost(const Ledger& ledger);
bool NeedsFilter(const Ledger& ledger);

struct Undone {
  std::string refused;              // why nothing was deleted, or would be; empty: it was
  std::vector<std::string> lines;   // one for each entry, in the order of the work
  std::vector<std::string> failed;  // what still exists, and why
};

// Refused while pods run in what would be deleted: local endpoints, not ours, with a namespace.
// Host routes first, then endpoints, networks, firewall rules, the base network, and then what our
// routes took the place of is given back: an adapter that goes with a network takes its routes
// along. Each of these in the order of the ledger. An entry goes from the ledger once its thing is
// gone, so that a second run, and one that dies, do no harm. What was adopted stays, and its entry;
// so does an entry that this version does not understand, which is a failure.
Undone Undo(const UndoPlaces& places, Ledger& ledger, const UndoOptions& options);

}  // namespace weft::ledger
