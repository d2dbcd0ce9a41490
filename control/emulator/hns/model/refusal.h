// SPDX-License-Identifier: Apache-2.0
// The form in which HNS refuses a call.
#pragma once

#include <string>
#include <string_view>

#include "hns/api/api.h"

namespace weft::hns::emulator {

// Codes of HNS that weft's own code does not use.
inline constexpr Hresult kGuidConversionFailure = 0x803B0019;
inline constexpr Hresult kEndpointNotAttached = 0x803B0034;
inline constexpr Hresult kAlreadyExists = 0x800700B7;  // an equal load balancer
inline constexpr Hresult kDuplicateName = 0x80070034;  // a second NAT network

// The system's text for `code` in "en", "de" or "zh", with HNS's trailing space.
std::string ErrorText(std::string_view language, Hresult code);
// {"Success":false,"Error":"... ","ErrorCode":2151350288}; `detail` follows the text.
std::string ErrorRecord(std::string_view language, Hresult code, std::string_view detail = "");

// A reply without error record, which is added where the language is known.
inline Reply Refuse(Hresult code, std::string detail = "") {
  Reply reply;
  reply.code = code;
  reply.text = std::move(detail);
  return reply;
}

}  // namespace weft::hns::emulator
