// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/refusal.h"

#include <array>

#include "absl/strings/str_format.h"
#include "control/emulator/hns/model/document.h"

namespace weft::hns::emulator {
namespace {

struct Row {
  Hresult code;
  std::string_view english, german, chinese;
};

// German and Chinese only for the codes where clients that match on the text have failed.
constexpr std::array kRows = {
    Row{hresult::kNetworkNotFound, "The network was not found. ",
        "Das Netzwerk wurde nicht gefunden. ", "找不到网络。 "},
    Row{hresult::kEndpointNotFound, "The endpoint was not found. ",
        "Der Endpunkt wurde nicht gefunden. ", "找不到终结点。 "},
    Row{hresult::kAdapterNotFound, "The network adapter was not found. ", "", ""},
    Row{hresult::kPolicyNotFound, "An expected policy was not found. ", "", ""},
    Row{hresult::kInvalidNetwork, "The network configuration is invalid or missing parameters. ",
        "", ""},
    Row{hresult::kInvalidNetworkType, "Invalid network type. ", "", ""},
    Row{hresult::kInvalidEndpoint, "The endpoint configuration is invalid or missing parameters. ",
        "", ""},
    Row{hresult::kInvalidPolicy, "The policy configuration is invalid or missing parameters. ", "",
        ""},
    Row{hresult::kInvalidPolicyType, "Invalid policy type. ", "", ""},
    Row{hresult::kNetworkAlreadyExists, "A network with this name already exists. ",
        "Ein Netzwerk mit diesem Namen ist bereits vorhanden. ", "已存在使用此名称的网络。 "},
    Row{hresult::kPolicyAlreadyExists, "Policy information already exists on this object. ", "",
        ""},
    Row{hresult::kPortAlreadyExists, "The specified port already exists. ", "", ""},
    Row{hresult::kEndpointAlreadyAttached, "This endpoint is already attached to the switch. ",
        "Dieser Endpunkt ist bereits an den Switch angefügt. ", "此终结点已连接到交换机。 "},
    Row{hresult::kRequestUnsupported, "The specified request is unsupported. ", "", ""},
    Row{hresult::kDegradedOperation, "Cannot perform operation on a degraded object. ", "", ""},
    Row{kGuidConversionFailure, "Failed converting a parameter to a GUID. ", "", ""},
    Row{hresult::kInvalidJson, "Invalid JSON document string. ",
        "Ungültige JSON-Dokumentzeichenfolge. ", "JSON 文档字符串无效。 "},
    Row{hresult::kInvalidIp,
        "The specified IP address is invalid or does not exist within any of the subnets. ", "",
        ""},
    Row{hresult::kEndpointNamespaceAlreadyExists, "Endpoint already exists in the namespace. ", "",
        ""},
    Row{hresult::kEntityHasReferences, "The specified entity cannot be removed while referenced. ",
        "", ""},
    Row{hresult::kAddrInvalidOrReserved, "An address provided is invalid or reserved. ", "", ""},
    Row{hresult::kObjectUsedAfterUnload, "The object has been used after it was unloaded. ", "",
        ""},
    Row{hresult::kInvalidSubnet, "The subnet is invalid. ", "", ""},
    Row{kEndpointNotAttached, "The endpoint is not attached. ", "", ""},
    Row{hresult::kUnspecified, "Unspecified error ", "Unbekannter Fehler ", "未指定的错误 "},
    Row{hresult::kAccessDenied, "Access is denied. ", "Zugriff verweigert ", "拒绝访问。 "},
    Row{hresult::kInvalidHandle, "The handle is invalid. ", "Das Handle ist ungültig. ",
        "句柄无效。 "},
    Row{hresult::kInvalidArgument, "The parameter is incorrect. ", "Falscher Parameter. ",
        "参数错误。 "},
    Row{hresult::kElementNotFound, "Element not found. ", "Element nicht gefunden. ",
        "找不到元素。 "},
    Row{hresult::kNoMoreEndpoints,
        "There are no more endpoints available from the endpoint mapper. ",
        "In der Endpunktzuordnung sind keine weiteren Endpunkte verfügbar. ",
        "终结点映射器中没有更多的终结点可用。 "},
    Row{hresult::kObjectAlreadyExists, "The object already exists. ",
        "Das Objekt ist bereits vorhanden. ", "对象已存在。 "},
    Row{kAlreadyExists, "Cannot create a file when that file already exists. ",
        "Eine Datei kann nicht erstellt werden, wenn sie bereits vorhanden ist. ",
        "当文件已存在时，无法创建该文件。 "},
    Row{hresult::kRpcCallFailedDne, "The remote procedure call failed and did not execute. ", "",
        ""},
    Row{kDuplicateName, "You were not connected because a duplicate name exists on the network. ",
        "", ""},
};

}  // namespace

std::string ErrorText(std::string_view language, Hresult code) {
  for (const Row& row : kRows) {
    if (row.code != code) continue;
    if (language == "de" && !row.german.empty()) return std::string(row.german);
    if (language == "zh" && !row.chinese.empty()) return std::string(row.chinese);
    return std::string(row.english);
  }
  if (language == "de") return absl::StrFormat("Unbekannter Fehler (0x%x) ", code);
  if (language == "zh") return absl::StrFormat("未知的错误 (0x%x) ", code);
  return absl::StrFormat("Unknown error (0x%x) ", code);
}

std::string ErrorRecord(std::string_view language, Hresult code, std::string_view detail) {
  return Dump({{"Success", false},
               {"Error", ErrorText(language, code) + std::string(detail)},
               {"ErrorCode", code}});
}

}  // namespace weft::hns::emulator
