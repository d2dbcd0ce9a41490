// SPDX-License-Identifier: Apache-2.0
// Who keeps account of what the keepers make, so that it can be undone
// (control/ledger/hns_ledger.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hns/api/api.h"
#include "hns/document/guid.h"
#include "hns/document/network.h"

namespace weft::hns {

struct JournalObject {
  Kind kind = Kind::kNetwork;
  std::string name;
  // What it looks like, so that one whose id is not known is not mistaken for another's of its
  // name: "Overlay 10.244.1.0/24 VSID 4096"; an endpoint's address.
  std::string shape;
};

struct JournalEntry {
  std::string name;
  std::optional<Guid> id;  // empty: about to be made
  bool made = false;       // by us
  std::string shape{};
  bool this_boot = false;  // made since the system started
};

// By any view of it, for weft's own networks: the first subnet tells, and a UDP port other than
// 4789.
std::string ShapeOf(const Network& network);
// VSID and UDP port of a network that was made in `shape`, where HNS does not show them.
void FillFromShape(std::string_view shape, Network& network);

// On a keeper's thread; returns when what is told is on disk. What goes wrong there is the
// journal's to tell: a node without a journal is better than one without a network.
class Journal {
 public:
  virtual ~Journal() = default;
  // Told before the create, so that who dies in between knows it again.
  virtual void BeforeCreate(const JournalObject& object) = 0;
  // HNS refused: nothing was made.
  virtual void NotCreated(const JournalObject& object) = 0;
  // It stands and is right: made by us just now, known for long, or found.
  virtual void Stands(const JournalObject& object, const Guid& id) = 0;
  // Deleted by us, or not there any more.
  virtual void Gone(Kind kind, const std::string& name) = 0;
  // Of this kind, whatever was told and is not gone; also by earlier processes.
  virtual std::vector<JournalEntry> Entries(Kind kind) = 0;

  // Whether one of that name was made by us, in that shape, since the system started.
  bool MadeThisBoot(const JournalObject& object);
};

// Of a network that differs, though MadeThisBoot: why it stays, and what a person does next.
inline constexpr std::string_view kNotAgain =
    "; it was made for this net-conf once since this node started, and is not replaced again: "
    "drain "
    "this node and reboot it";

// `journal`, or one that keeps nothing.
std::shared_ptr<Journal> OrNone(std::shared_ptr<Journal> journal);

}  // namespace weft::hns
