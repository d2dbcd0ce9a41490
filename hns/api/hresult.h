// SPDX-License-Identifier: Apache-2.0
// HNS's error codes. Its error texts are localised: they are shown, never compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace weft::hns {

// Windows' HRESULT; the highest bit set means failure.
using Hresult = std::uint32_t;

constexpr bool Failed(Hresult code) { return (code & 0x80000000u) != 0; }

// winerror.h's names without HCN_E_ (facility 0x3B), and Win32 codes met in practice.
namespace hresult {
inline constexpr Hresult kOk = 0;
inline constexpr Hresult kNetworkNotFound = 0x803B0001;
inline constexpr Hresult kEndpointNotFound = 0x803B0002;
inline constexpr Hresult kAdapterNotFound = 0x803B0006;
inline constexpr Hresult kPolicyNotFound = 0x803B0008;
inline constexpr Hresult kInvalidNetwork = 0x803B000A;
inline constexpr Hresult kInvalidNetworkType = 0x803B000B;
inline constexpr Hresult kInvalidEndpoint = 0x803B000C;
inline constexpr Hresult kInvalidPolicy = 0x803B000D;
inline constexpr Hresult kInvalidPolicyType = 0x803B000E;
inline constexpr Hresult kNetworkAlreadyExists = 0x803B0010;
inline constexpr Hresult kPolicyAlreadyExists = 0x803B0012;
inline constexpr Hresult kPortAlreadyExists = 0x803B0013;
inline constexpr Hresult kEndpointAlreadyAttached = 0x803B0014;
inline constexpr Hresult kRequestUnsupported = 0x803B0015;
inline constexpr Hresult kDegradedOperation = 0x803B0017;
inline constexpr Hresult kSharedSwitchModification = 0x803B0018;
inline constexpr Hresult kInvalidJson = 0x803B001B;
inline constexpr Hresult kInvalidIp = 0x803B001E;
inline constexpr Hresult kManagerStopped = 0x803B0020;
inline constexpr Hresult kEndpointNamespaceAlreadyExists = 0x803B002B;
inline constexpr Hresult kEntityHasReferences = 0x803B002C;
inline constexpr Hresult kAddrInvalidOrReserved = 0x803B002F;
inline constexpr Hresult kObjectUsedAfterUnload = 0x803B0031;
inline constexpr Hresult kInvalidSubnet = 0x803B0032;

inline constexpr Hresult kUnspecified = 0x80004005;
inline constexpr Hresult kAccessDenied = 0x80070005;
inline constexpr Hresult kInvalidHandle = 0x80070006;
inline constexpr Hresult kWrongDiskette = 0x80070022;  // 1809: the endpoint is already attached
inline constexpr Hresult kNotSupported = 0x80070032;
inline constexpr Hresult kInvalidArgument = 0x80070057;
inline constexpr Hresult kModuleNotFound = 0x8007007E;    // the DLL does not exist
inline constexpr Hresult kFunctionNotFound = 0x8007007F;  // the DLL lacks the function
inline constexpr Hresult kServiceNotActive = 0x80070426;
inline constexpr Hresult kElementNotFound = 0x80070490;
inline constexpr Hresult kRpcServerUnavailable = 0x800706BA;
inline constexpr Hresult kRpcCallFailed = 0x800706BE;
inline constexpr Hresult kRpcCallFailedDne = 0x800706BF;
inline constexpr Hresult kNoMoreEndpoints = 0x800706D9;  // the hns service is stopped
inline constexpr Hresult kObjectAlreadyExists = 0x80071392;
}  // namespace hresult

// "HCN_E_NETWORK_NOT_FOUND"; empty for a number without a name.
std::string_view Name(Hresult code);

// The object with that id or handle does not exist. (On a create, kElementNotFound means instead
// that HNS is still finishing a delete.)
bool IsNotFound(Hresult code);
// The service stopped, restarts, or lost our handles: open and read everything again.
bool IsServiceGone(Hresult code);
// Of a create: nothing was created. After any other failure, such as a time-out or E_FAIL, the
// object may exist, whole or in part.
bool ProvesRefusal(Hresult code);

// Of a create: HNS may have refused the adapter. 0x80070057 for a virtual one, 0x803B0006 for one
// that it does not know or may not use, 0x803B000D or 0x803B000E if it does not know the policy
// that names the adapter.
bool IsAboutAdapter(const absl::Status& status);

// Of a create: another network may conflict. Some versions of HNS refuse two networks with one
// subnet, with one of three numbers.
bool MayBeAboutAnotherNetwork(const absl::Status& status);

// `what` is action and object: "create the network flannel.4096". The message adds the code's name
// and number, the error record's text (one bounded line, whatever the record is), and the next step
// if one is known; a payload has the number. Ok: the call succeeded without a record. A record
// after a success is a failure, as in hcsshim, with the record's number or kUnspecified. Codes:
// NotFound where IsNotFound(), Unavailable where IsServiceGone(), AlreadyExists, and
// PermissionDenied, InvalidArgument, Unimplemented, FailedPrecondition, ... by the number.
absl::Status StatusOf(std::string_view what, Hresult code, std::string_view error_record);
// The number in that payload.
std::optional<Hresult> HresultOf(const absl::Status& status);
// The same error, its message prefixed with `prefix` and ": ".
absl::Status Prefixed(std::string_view prefix, const absl::Status& status);

}  // namespace weft::hns
