// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/faults.h"

#include <string_view>

namespace weft::hns::emulator {
namespace {

bool Fits(std::string_view desired, std::string_view function) {
  if (desired == "*") return true;
  if (desired.starts_with("HNSCall")) return function.starts_with(desired);
  return desired == function;
}

}  // namespace

std::optional<Fault> Faults::Next(const ApiCall& call) {
  std::string function(call.function());
  if (call.operation == Operation::kCall) function += " " + call.object();
  ++total_;
  ++calls_[function];
  std::optional<Fault> hit;
  for (Rule& rule : rules_) {
    if (!Fits(rule.fault.function, function)) continue;
    const std::uint64_t number = ++rule.seen;
    if (number < rule.fault.first || number - rule.fault.first >= rule.fault.count) continue;
    if (!hit) hit = rule.fault;
  }
  return hit;
}

}  // namespace weft::hns::emulator
