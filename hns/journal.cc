// SPDX-License-Identifier: Apache-2.0
#include "hns/journal.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::hns {
namespace {

class Forgetful final : public Journal {
 public:
  void BeforeCreate(const JournalObject&) override {}
  void NotCreated(const JournalObject&) override {}
  void Stands(const JournalObject&, const Guid&) override {}
  void Gone(Kind, const std::string&) override {}
  std::vector<JournalEntry> Entries(Kind) override { return {}; }
};

}  // namespace

std::string ShapeOf(const Network& network) {
  std::string shape = network.type;
  if (network.subnets.empty()) return shape;
  const Subnet& first = network.subnets.front();
  absl::StrAppend(&shape, " ", first.prefix.ToString());
  if (first.isolation_id) absl::StrAppend(&shape, " VSID ", *first.isolation_id);
  return shape;
}

std::shared_ptr<Journal> OrNone(std::shared_ptr<Journal> journal) {
  return journal ? std::move(journal) : std::make_shared<Forgetful>();
}

}  // namespace weft::hns
