// SPDX-License-Identifier: Apache-2.0
// Removes the objects that the ledger lists as ours, and nothing else.
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
  // Keep the base network, and with it the vSwitch, so that the node does not lose its connectivity
  // for seconds.
  bool keep_vswitch = false;
  // Proceed although pods run.
  bool force = false;
};

// The interfaces to what was made. One that the ledger does not need may be null.
struct UndoPlaces {
  hns::Client* hns = nullptr;
  host::Host* host = nullptr;
  host::PacketFilter* filter = nullptr;
};
// Whether the ledger has no entry of an object that weft made or took over.
bool ListsNothing(const Ledger& ledger);
bool NeedsHns(const Ledger& ledger);
bool NeedsHost(const Ledger& ledger);
bool NeedsFilter(const Ledger& ledger);

struct Undone {
  std::string refused;              // why nothing was done; empty: not refused
  std::vector<std::string> lines;   // one for each entry, in the order of the work
  std::vector<std::string> failed;  // what still exists, and why
};

// Refused while pods run in the networks that would be deleted: local endpoints, not ours, with a
// namespace. Host routes are removed first, then endpoints, networks, firewall rules, the base
// network; the routes that ours replaced are restored last, because deleting a network removes its
// adapter with its routes. Each group is processed in the order of the ledger. An entry is removed
// once its object does not exist any more, so a second run, or one after a crash, does no harm.
// Adopted objects and their entries stay; so does an entry that this version does not know, which
// is reported as a failure.
Undone Undo(const UndoPlaces& places, Ledger& ledger, const UndoOptions& options);

}  // namespace weft::ledger
