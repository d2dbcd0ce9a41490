// SPDX-License-Identifier: Apache-2.0
#include "control/cli/verbs.h"

namespace weft::cli {
namespace {

constexpr Verb kVerbs[] = {
    {"status", "What flanneld does and whether it is well, on one screen", AddStatus},
    {"leases", "Every node's lease, and whether it can be used", AddLeases},
    {"explain", "A frame's layers, and what flanneld does with it and why", AddExplain},
    {"hns", "Windows' Host Network Service: look at it, stand in for it", AddHns},
    {"plan", "What flanneld would change in HNS now, with each document", AddPlan},
    {"reset", "Delete what flanneld made in HNS and on the host, and nothing else", AddReset},
    {"version", "This program's version", AddVersion},
    {"completion", "Completion of verbs and options for a shell", AddCompletion},
};

}  // namespace

std::span<const Verb> Verbs() { return kVerbs; }

const Verb* FindVerb(std::string_view name) {
  for (const Verb& verb : kVerbs) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

}  // namespace weft::cli
