// SPDX-License-Identifier: Apache-2.0
// Names of the functions of computenetwork.dll and vmcompute.dll.
#pragma once

#include <cstdint>
#include <string_view>

#include "hns/api/api.h"

namespace weft::hns {

enum class Operation : std::uint8_t {
  kEnumerate,
  kCreate,
  kOpen,
  kModify,
  kQuery,
  kDelete,
  kClose,
  kCall,  // HNSCall; this and the next two have no kind of object
  kSubscribe,
  kUnsubscribe
};

// "HcnEnumerateNetworks", "HcnQueryNamespaceProperties"; a string literal.
std::string_view FunctionName(Operation operation, Kind kind);
// Whether a function of the two DLLs has this name. "HNSCall" may be followed by a method and a
// path.
bool IsFunctionName(std::string_view name);
inline constexpr std::string_view kCallName = "HNSCall";
inline constexpr std::string_view kSubscribeName = "HcnRegisterServiceCallback";
inline constexpr std::string_view kUnsubscribeName = "HcnUnregisterServiceCallback";

}  // namespace weft::hns
