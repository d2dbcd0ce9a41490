// SPDX-License-Identifier: Apache-2.0
#include "hns/emulator/faults.h"

namespace weft::hns::emulator {
namespace {

bool Fits(std::string_view wanted, std::string_view function) {
  if (wanted == "*") return true;
  if (wanted.starts_with("HNSCall")) return function.starts_with(wanted);
  return wanted == function;
}

std::string_view Name(Kind kind) {
  switch (kind) {
    case Kind::kNetwork:
      return "Network";
    case Kind::kEndpoint:
      return "Endpoint";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kLoadBalancer:
      return "LoadBalancer";
  }
  return "";
}

}  // namespace

std::string FunctionName(Operation operation, Kind kind) {
  const std::string name(Name(kind));
  switch (operation) {
    case Operation::kEnumerate:
      return "HcnEnumerate" + name + "s";
    case Operation::kCreate:
      return "HcnCreate" + name;
    case Operation::kOpen:
      return "HcnOpen" + name;
    case Operation::kModify:
      return "HcnModify" + name;
    case Operation::kQuery:
      return "HcnQuery" + name + "Properties";
    case Operation::kDelete:
      return "HcnDelete" + name;
    case Operation::kClose:
      return "HcnClose" + name;
  }
  return name;
}

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
