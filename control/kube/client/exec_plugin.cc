// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/exec_plugin.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "control/kube/client/cluster_access.h"
#include "control/kube/client/url.h"
#include "nlohmann/json.hpp"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

using Json = nlohmann::json;

absl::Status BadAnswer(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("its output ", what));
}

// A text member; empty if it is absent or null.
absl::StatusOr<std::string> Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::string();
  if (!found->is_string()) return BadAnswer(absl::StrCat("has a ", key, " that is not a text"));
  return found->get<std::string>();
}

bool FitsAField(std::string_view token) {
  for (const char c : token)
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c))) return false;
  return true;
}

absl::StatusOr<ExecCredential> Read(const Json& document, std::string_view api_version) {
  const auto version = Text(document, "apiVersion");
  if (!version.ok()) return version.status();
  const auto kind = Text(document, "kind");
  if (!kind.ok()) return kind.status();
  if (*kind != "ExecCredential" || *version != api_version) {
    return BadAnswer(absl::StrCat("is a ", Quoted(*kind, 60), " of ", Quoted(*version, 60),
                                  ", not an ExecCredential of ", api_version));
  }
  const auto status = document.find("status");
  if (status == document.end() || !status->is_object()) return BadAnswer("has no status");
  ExecCredential credential;
  const std::pair<const char*, std::string*> fields[] = {
      {"token", &credential.token},
      {"clientCertificateData", &credential.client_certificate},
      {"clientKeyData", &credential.client_key}};
  for (const auto& [key, into] : fields) {
    auto text = Text(*status, key);
    if (!text.ok()) return text.status();
    *into = *std::move(text);
  }
  if (credential.client_certificate.empty() != credential.client_key.empty())
    return BadAnswer("has only one of clientCertificateData and clientKeyData");
  if (credential.token.empty() && credential.client_certificate.empty())
    return BadAnswer("has neither a token nor a client certificate");
  if (!FitsAField(credential.token))
    return BadAnswer("has a token with characters that are not valid in a token");
  const auto expires = Text(*status, "expirationTimestamp");
  if (!expires.ok()) return expires.status();
  if (!expires->empty()) {
    absl::Time time;
    if (!absl::ParseTime(absl::RFC3339_full, *expires, &time, nullptr))
      return BadAnswer("has an expirationTimestamp that is not an RFC 3339 time");
    credential.expires = time;
  }
  return credential;
}

}  // namespace

std::string ExecInfo(const ExecPlugin& plugin, const ClusterAccess& access, const std::string& ca) {
  Json spec = {{"interactive", false}};
  if (plugin.provide_cluster_info) {
    Json cluster = {{"server", absl::StrCat(access.tls ? "https://" : "http://",
                                            HostAndPort(access.host, access.port), access.path)}};
    if (!access.tls_server_name.empty()) cluster["tls-server-name"] = access.tls_server_name;
    if (access.insecure_skip_tls_verify) cluster["insecure-skip-tls-verify"] = true;
    if (!ca.empty()) cluster["certificate-authority-data"] = absl::Base64Escape(ca);
    if (access.proxy) {
      cluster["proxy-url"] =
          absl::StrCat("http://", HostAndPort(access.proxy->host, access.proxy->port));
    }
    // null where there is none, as client-go writes it.
    cluster["config"] = plugin.cluster_config.empty() ? Json()
                                                      : Json::parse(plugin.cluster_config, nullptr,
                                                                    /*allow_exceptions=*/false);
    spec["cluster"] = std::move(cluster);
  }
  const Json document = {
      {"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}};
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<ExecCredential> ParseExecCredential(std::string_view text,
                                                   std::string_view api_version) {
  const Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return BadAnswer("is not JSON");
  if (!document.is_object()) return BadAnswer("is not a JSON object");
  return Read(document, api_version);
}

}  // namespace weft::kube
