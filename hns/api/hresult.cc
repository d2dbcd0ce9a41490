// SPDX-License-Identifier: Apache-2.0
#include "hns/api/hresult.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hns/api/response.h"
#include "vxlan/text/printable.h"

namespace weft::hns {
namespace {

using enum absl::StatusCode;

// Name, status and next step for each number that HNS may return: Microsoft's HCNHResult and
// winerror.h.
struct HresultRow {
  Hresult code;
  std::string_view name;  // as in Microsoft's headers
  // kUnavailable exactly where IsServiceGone().
  absl::StatusCode status;
  std::string_view next_step = "";  // for an operator
};

constexpr HresultRow kRows[] = {
    {0x80004001, "E_NOTIMPL", kUnimplemented},
    {0x80004002, "E_NOINTERFACE", kUnimplemented},
    {0x80004005, "E_FAIL", kUnknown},
    {0x8000FFFF, "E_UNEXPECTED", kUnknown},
    {0x80070005, "E_ACCESSDENIED", kPermissionDenied, "run as Administrator or LocalSystem"},
    {0x80070006, "E_HANDLE", kUnavailable},
    {0x8007000E, "E_OUTOFMEMORY", kResourceExhausted},
    {0x80070020, "ERROR_SHARING_VIOLATION", kAborted},
    {0x80070022, "ERROR_WRONG_DISK", kAlreadyExists},
    {0x80070032, "ERROR_NOT_SUPPORTED", kUnimplemented},
    {0x80070034, "ERROR_DUP_NAME", kAlreadyExists},
    {0x80070057, "E_INVALIDARG", kInvalidArgument},
    {0x8007007E, "ERROR_MOD_NOT_FOUND", kUnimplemented,
     "install the Containers feature of Windows (Install-WindowsFeature Containers)"},
    {0x8007007F, "ERROR_PROC_NOT_FOUND", kUnimplemented,
     "this Windows is too old for it: Windows Server 2019 with its updates, or newer"},
    {0x800700B7, "ERROR_ALREADY_EXISTS", kAlreadyExists},
    {0x80070422, "ERROR_SERVICE_DISABLED", kUnavailable,
     "enable the hns service (Set-Service hns -StartupType Manual)"},
    {0x80070424, "ERROR_SERVICE_DOES_NOT_EXIST", kUnavailable,
     "install the Containers feature of Windows (Install-WindowsFeature Containers)"},
    {0x80070426, "ERROR_SERVICE_NOT_ACTIVE", kUnavailable,
     "the hns service does not run: start it (Start-Service hns)"},
    {0x80070490, "ERROR_NOT_FOUND", kNotFound},
    {0x800704DB, "ERROR_SERVICE_NOT_FOUND", kUnavailable,
     "install the Containers feature of Windows (Install-WindowsFeature Containers)"},
    {0x800705B4, "ERROR_TIMEOUT", kDeadlineExceeded},
    {0x800706B5, "RPC_S_UNKNOWN_IF", kUnavailable,
     "the hns service stopped or restarts: check it with Get-Service hns"},
    {0x800706BA, "RPC_S_SERVER_UNAVAILABLE", kUnavailable,
     "the hns service does not run: start it (Start-Service hns)"},
    {0x800706BB, "RPC_S_SERVER_TOO_BUSY", kResourceExhausted},
    {0x800706BE, "RPC_S_CALL_FAILED", kUnavailable},
    {0x800706BF, "RPC_S_CALL_FAILED_DNE", kUnavailable},
    {0x800706D9, "EPT_S_NOT_REGISTERED", kUnavailable,
     "the hns service does not run: start it (Start-Service hns)"},
    {0x800706EF, "RPC_X_SS_IN_NULL_CONTEXT", kUnavailable},
    {0x800706F1, "RPC_X_SS_CONTEXT_DAMAGED", kUnavailable},
    {0x800706F2, "RPC_X_SS_HANDLES_MISMATCH", kUnavailable},
    {0x80071392, "ERROR_OBJECT_ALREADY_EXISTS", kAlreadyExists},
    {0x80370114, "HCS_E_SERVICE_NOT_AVAILABLE", kUnavailable,
     "the hns service does not run: start it (Start-Service hns)"},
    {0x803B0001, "HCN_E_NETWORK_NOT_FOUND", kNotFound},
    {0x803B0002, "HCN_E_ENDPOINT_NOT_FOUND", kNotFound},
    {0x803B0003, "HCN_E_LAYER_NOT_FOUND", kFailedPrecondition},
    {0x803B0004, "HCN_E_SWITCH_NOT_FOUND", kFailedPrecondition},
    {0x803B0005, "HCN_E_SUBNET_NOT_FOUND", kFailedPrecondition},
    {0x803B0006, "HCN_E_ADAPTER_NOT_FOUND", kFailedPrecondition,
     "name a wired adapter that no other switch uses (Get-NetAdapter, Get-HnsNetwork)"},
    {0x803B0007, "HCN_E_PORT_NOT_FOUND", kFailedPrecondition},
    {0x803B0008, "HCN_E_POLICY_NOT_FOUND", kFailedPrecondition},
    {0x803B0009, "HCN_E_VFP_PORTSETTING_NOT_FOUND", kFailedPrecondition},
    {0x803B000A, "HCN_E_INVALID_NETWORK", kInvalidArgument},
    {0x803B000B, "HCN_E_INVALID_NETWORK_TYPE", kInvalidArgument},
    {0x803B000C, "HCN_E_INVALID_ENDPOINT", kInvalidArgument},
    {0x803B000D, "HCN_E_INVALID_POLICY", kInvalidArgument},
    {0x803B000E, "HCN_E_INVALID_POLICY_TYPE", kInvalidArgument},
    {0x803B000F, "HCN_E_INVALID_REMOTE_ENDPOINT_OPERATION", kInvalidArgument},
    {0x803B0010, "HCN_E_NETWORK_ALREADY_EXISTS", kAlreadyExists},
    {0x803B0011, "HCN_E_LAYER_ALREADY_EXISTS", kAlreadyExists},
    {0x803B0012, "HCN_E_POLICY_ALREADY_EXISTS", kAlreadyExists},
    {0x803B0013, "HCN_E_PORT_ALREADY_EXISTS", kAlreadyExists},
    {0x803B0014, "HCN_E_ENDPOINT_ALREADY_ATTACHED", kAlreadyExists},
    {0x803B0015, "HCN_E_REQUEST_UNSUPPORTED", kUnimplemented},
    {0x803B0016, "HCN_E_MAPPING_NOT_SUPPORTED", kUnimplemented},
    {0x803B0017, "HCN_E_DEGRADED_OPERATION", kFailedPrecondition},
    {0x803B0018, "HCN_E_SHARED_SWITCH_MODIFICATION", kFailedPrecondition},
    {0x803B0019, "HCN_E_GUID_CONVERSION_FAILURE", kInvalidArgument},
    {0x803B001A, "HCN_E_REGKEY_FAILURE", kInternal},
    {0x803B001B, "HCN_E_INVALID_JSON", kInvalidArgument},
    {0x803B001C, "HCN_E_INVALID_JSON_REFERENCE", kInvalidArgument},
    {0x803B001D, "HCN_E_ENDPOINT_SHARING_DISABLED", kFailedPrecondition},
    {0x803B001E, "HCN_E_INVALID_IP", kInvalidArgument},
    {0x803B001F, "HCN_E_SWITCH_EXTENSION_NOT_FOUND", kFailedPrecondition},
    {0x803B0020, "HCN_E_MANAGER_STOPPED", kUnavailable,
     "the hns service is stopping: check it with Get-Service hns"},
    {0x803B0021, "GCN_E_MODULE_NOT_FOUND", kFailedPrecondition},
    {0x803B0022, "GCN_E_NO_REQUEST_HANDLERS", kUnimplemented},
    {0x803B0023, "GCN_E_REQUEST_UNSUPPORTED", kUnimplemented},
    {0x803B0024, "GCN_E_RUNTIMEKEYS_FAILED", kInternal},
    {0x803B0025, "GCN_E_NETADAPTER_TIMEOUT", kDeadlineExceeded},
    {0x803B0026, "GCN_E_NETADAPTER_NOT_FOUND", kFailedPrecondition},
    {0x803B0027, "GCN_E_NETCOMPARTMENT_NOT_FOUND", kFailedPrecondition},
    {0x803B0028, "GCN_E_NETINTERFACE_NOT_FOUND", kFailedPrecondition},
    {0x803B0029, "GCN_E_DEFAULTNAMESPACE_EXISTS", kAlreadyExists},
    {0x803B002A, "HCN_E_ICS_DISABLED", kFailedPrecondition},
    {0x803B002B, "HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS", kAlreadyExists},
    {0x803B002C, "HCN_E_ENTITY_HAS_REFERENCES", kFailedPrecondition},
    {0x803B002D, "HCN_E_INVALID_INTERNAL_PORT", kInvalidArgument},
    {0x803B002E, "HCN_E_NAMESPACE_ATTACH_FAILED", kInternal},
    {0x803B002F, "HCN_E_ADDR_INVALID_OR_RESERVED", kInvalidArgument},
    {0x803B0030, "HCN_E_INVALID_PREFIX", kInvalidArgument},
    {0x803B0031, "HCN_E_OBJECT_USED_AFTER_UNLOAD", kUnavailable},
    {0x803B0032, "HCN_E_INVALID_SUBNET", kInvalidArgument},
    {0x803B0033, "HCN_E_INVALID_IP_SUBNET", kInvalidArgument},
    {0x803B0034, "HCN_E_ENDPOINT_NOT_ATTACHED", kFailedPrecondition},
    {0x803B0035, "HCN_E_ENDPOINT_NOT_LOCAL", kFailedPrecondition},
    {0x803B0036, "HCN_INTERFACEPARAMETERS_ALREADY_APPLIED", kAlreadyExists},
    {0x803B0037, "HCN_E_VFP_NOT_ALLOWED", kUnimplemented},
};
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows),
                             [](const auto& a, const auto& b) { return a.code < b.code; }));

// Null for a number without a name.
const HresultRow* RowOf(Hresult code) {
  const auto rows = std::ranges::equal_range(kRows, code, {}, &HresultRow::code);
  return rows.empty() ? nullptr : rows.begin();
}

constexpr char kPayload[] = "weft/hns/hresult";
constexpr std::size_t kMaxShown = 200;  // bytes of HNS's own text

struct RecordText {
  std::string text;
  std::optional<Hresult> code;
};

// Text and code of an error record, which may be malformed.
RecordText ReadRecord(std::string_view error_record) {
  if (error_record.empty()) return {};
  const absl::StatusOr<Response> record = ParseResponse(error_record);
  if (!record.ok()) return {OneLine(error_record, kMaxShown), std::nullopt};
  return {OneLine(record->error, kMaxShown), record->error_code};
}

}  // namespace

std::string_view Name(Hresult code) {
  const HresultRow* row = RowOf(code);
  return row == nullptr ? std::string_view() : row->name;
}

bool IsNotFound(Hresult code) {
  return code == hresult::kNetworkNotFound || code == hresult::kEndpointNotFound ||
         code == hresult::kElementNotFound;
}

bool IsServiceGone(Hresult code) {
  const HresultRow* row = RowOf(code);
  return row != nullptr && row->status == absl::StatusCode::kUnavailable;
}

bool ProvesRefusal(Hresult code) {
  const HresultRow* row = RowOf(code);
  if (row == nullptr || code == hresult::kNotSupported) return false;
  if (code == hresult::kNetworkNotFound) return true;
  switch (row->status) {
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

bool IsAboutAdapter(const absl::Status& status) {
  const auto code = HresultOf(status);
  return code == hresult::kAdapterNotFound || code == hresult::kInvalidArgument ||
         code == hresult::kInvalidPolicy || code == hresult::kInvalidPolicyType;
}

bool MayBeAboutAnotherNetwork(const absl::Status& status) {
  const auto code = HresultOf(status);
  return code == hresult::kInvalidSubnet || code == hresult::kInvalidNetwork ||
         code == hresult::kInvalidArgument;
}

absl::Status StatusOf(std::string_view what, Hresult code, std::string_view error_record) {
  if (!Failed(code) && error_record.empty()) return absl::OkStatus();
  const RecordText record = ReadRecord(error_record);
  if (!Failed(code))
    code = record.code && Failed(*record.code) ? *record.code : hresult::kUnspecified;
  const HresultRow* row = RowOf(code);
  std::string message = absl::StrFormat("%s: ", what);
  if (row != nullptr) absl::StrAppend(&message, row->name, " ");
  absl::StrAppendFormat(&message, "(0x%08X)", code);
  if (!record.text.empty()) absl::StrAppend(&message, ", HNS reports: ", record.text);
  if (row != nullptr && !row->next_step.empty()) absl::StrAppend(&message, "; ", row->next_step);
  absl::Status status(row == nullptr ? absl::StatusCode::kUnknown : row->status, message);
  status.SetPayload(kPayload, absl::Cord(absl::StrCat(code)));
  return status;
}

std::optional<Hresult> HresultOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  Hresult code = 0;
  if (!payload || !absl::SimpleAtoi(std::string(*payload), &code)) return std::nullopt;
  return code;
}

absl::Status Prefixed(std::string_view prefix, const absl::Status& status) {
  absl::Status prefixed(status.code(), absl::StrCat(prefix, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    prefixed.SetPayload(type, payload);
  });
  return prefixed;
}

}  // namespace weft::hns
