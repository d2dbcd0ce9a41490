// SPDX-License-Identifier: Apache-2.0
// How HNS says no.
#pragma once

#include <string>
#include <string_view>

#include "hns/api/api.h"

namespace weft::hns::emulator {

// Met in HNS, of no interest to weft's own code.
inline constexpr Hresult kGuidConversionFailure = 0x803B0019;
inline constexpr Hresult kEndpointNotAttached = 0x803B0034;
inline constexpr Hresult kAlreadyExists = 0x800700B7;  // an equal load balancer
inline constexpr Hresult kDuplicateName = 0x80070034;  // a second NAT network

// The system's own text for `code` in "en", "de" or "zh", with the trailing space that HNS has.
std::string ErrorText(std::string_view language, Hresult code);
// {"Success":false,"Error":"... ","ErrorCode":2151350288}; `detail` follows the text.
std::string ErrorRecord(std::string_view language, Hresult code, std::string_view detail = "");

// Without its error record: that is added where the language is known.
inline Reply Refuse(Hresult code, std::string detail = "") {
  Reply reply;
  reply.code = code;
  reply.text = std::move(detail);
  return reply;
}

}  // namespace weft::hns::emulator
