// SPDX-License-Identifier: Apache-2.0
// Who keeps account of what the keepers make, so that it can be undone
// (control/daemon/hns_ledger.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hns/api.h"
#include "hns/guid.h"
#include "hns/hresult.h"
#include "hns/network.h"

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
};

// By any view of it, for weft's own networks: the first subnet tells.
std::string ShapeOf(const Network& network);

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
};

// Makes `object` by `make`, which returns a StatusOr. After an answer that may be no answer (the
// service is gone) it stays entered: perhaps it was made.
template <typename Make>
auto CreateEntered(Journal& journal, const JournalObject& object, const Make& make) {
  journal.BeforeCreate(object);
  auto made = make();
  const auto code = HresultOf(made.status());
  if (code && !IsServiceGone(*code)) journal.NotCreated(object);
  return made;
}

// `journal`, or one that keeps nothing.
std::shared_ptr<Journal> OrNone(std::shared_ptr<Journal> journal);

}  // namespace weft::hns
