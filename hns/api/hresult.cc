// SPDX-License-Identifier: Apache-2.0
#include "hns/api/hresult.h"

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hns/api/hresult_table.h"
#include "hns/api/response.h"
#include "vxlan/text/printable.h"

namespace weft::hns {
namespace {

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
  if (!Failed(code)) {
    code = record.code && Failed(*record.code) ? *record.code : hresult::kUnspecified;
  }
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
