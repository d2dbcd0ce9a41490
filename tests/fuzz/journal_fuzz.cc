// SPDX-License-Identifier: Apache-2.0
// Any bytes as the journal of --state-dir: refused with a line, or a state that survives being
// written.
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "control/journal/journal.h"
#include "tests/fuzz/input.h"

using weft::fuzz::Require;
using weft::lease::Lease;

namespace {

absl::StatusOr<weft::journal::Header> Read(const std::string& text, std::vector<Lease>& leases) {
  std::istringstream in(text);
  const auto keep = [&leases](const Lease& lease) { leases.push_back(lease); };
  return weft::journal::Read(in, keep);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<Lease> leases;
  const auto header = Read({reinterpret_cast<const char*>(data), size}, leases);
  if (!header.ok()) {
    Require(!header.status().message().empty(), "a cause");
    return 0;
  }
  Require(!header->scope.source.empty() && !header->own.node.name.empty(), "what it belongs to");
  for (const Lease& lease : leases) {
    Require(!lease.node.name.empty(), "a name");
    for (const auto& half : {lease.v4, lease.v6})
      Require(!half || !half->vtep_mac || !half->vtep_mac->IsGroup(), "the MAC of a node");
  }
  const auto each = [&leases](weft::journal::Visit visit) {
    for (const Lease& lease : leases) visit(lease);
  };
  std::string text;
  const auto append = [&text](std::string_view piece) { text += piece; };
  if (header->leases)
    weft::journal::Write(*header, each, append);
  else
    weft::journal::Write(*header, std::nullopt, append);
  std::vector<Lease> leases_again;
  const auto again = Read(text, leases_again);
  Require(again.ok() && *again == *header && leases_again == leases, "it is read back");
  return 0;
}
