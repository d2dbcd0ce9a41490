// SPDX-License-Identifier: Apache-2.0
// The ledger of the HNS objects that the keepers make, so that they can be undone
// (control/ledger/node_ledger.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hns/api/api.h"
#include "hns/document/guid.h"
#include "hns/document/network.h"

namespace weft::hns {

// One that a keeper makes or uses.
struct LedgerObject {
  Kind kind = Kind::kNetwork;
  std::string name;
  // What it looks like, so that one whose id is not known is not mistaken for another's of its
  // name: "Overlay 10.244.1.0/24 VSID 4096"; an endpoint's address.
  std::string shape;
};

// One that the ledger lists.
struct KnownObject {
  std::string name;
  std::optional<Guid> id;  // empty: intended, and how its create ended is not known
  bool made = false;       // by us
  std::string shape{};
  bool this_boot = false;  // made since the system started
};

// By any view of it, for weft's own networks: the first subnet tells, and a UDP port other than
// 4789.
std::string ShapeOf(const Network& network);
// VSID and UDP port of a network that was made in `shape`, where HNS does not show them.
void FillFromShape(std::string_view shape, Network& network);

// What the keepers make is written here before it is made. On a keeper's thread; a call returns
// when the ledger is on disk. The ledger reports its own errors: a node without a ledger is better
// than one without a network. This one keeps nothing.
class ObjectLedger {
 public:
  virtual ~ObjectLedger() = default;
  // Before the create, so that a process that dies during it knows its own object again.
  virtual void Intend(const LedgerObject& /*object*/) {}
  // HNS refused the create: what the ledger said of this name before Intend counts again.
  virtual void Forget(const LedgerObject& /*object*/) {}
  // The object exists and is right: made by us just now, known for long, or found.
  virtual void Confirm(const LedgerObject& /*object*/, const Guid& /*id*/) {}
  // No object of this name exists any more: deleted by us, or by another process.
  virtual void Forget(Kind /*kind*/, const std::string& /*name*/) {}
  // All of this kind that are intended or confirmed and not forgotten, by earlier processes too.
  virtual std::vector<KnownObject> Objects(Kind /*kind*/) { return {}; }

  // Whether one of that name was made by us, in that shape, since the system started.
  bool MadeThisBoot(const LedgerObject& object);
};

// Of a network that differs, though MadeThisBoot: why it stays, and what a person does next.
inline constexpr std::string_view kNotAgain =
    "; it was made for this net-conf once since this node started, and is not replaced again: "
    "drain "
    "this node and reboot it";

// `ledger`, or one that keeps nothing.
inline std::shared_ptr<ObjectLedger> OrNone(std::shared_ptr<ObjectLedger> ledger) {
  return ledger ? std::move(ledger) : std::make_shared<ObjectLedger>();
}

}  // namespace weft::hns
