// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/faults.h"

namespace weft::hns::emulator {
namespace {

bool Fits(std::string_view desired, std::string_view function) {
  if (desired == "*") return true;
  if (desired.starts_with("HNSCall")) return function.starts_with(desired);
  return desired == function;
}

}  // namespace

std::string CallName(std::string_view method, std::string_view path) {
  return "HNSCall " + std::string(method) + " " + std::string(path);
}

std::optional<Fault> Faults::Next(std::string_view function) {
  ++total_;
  ++calls_[std::string(function)];
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
