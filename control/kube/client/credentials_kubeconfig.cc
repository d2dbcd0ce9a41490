// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/credentials_kubeconfig.h"

#include <cmath>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/kube/client/cluster_access.h"
#include "nlohmann/json.hpp"
#include "vxlan/text/printable.h"
#include "yaml-cpp/yaml.h"

namespace weft::kube {
namespace {

// Ends the reading, as yaml-cpp's exceptions do: Parse returns it.
struct Refusal {
  absl::Status status;
};
[[noreturn]] void Refuse(std::string_view where, std::string_view what) {
  throw Refusal{absl::InvalidArgumentError(absl::StrCat(where, what))};
}
void Require(const absl::Status& status) {
  if (!status.ok()) throw Refusal{status};
}

using Json = nlohmann::json;

// An alias can contain itself, or multiply what it names.
constexpr int kMostValues = 1000;

// A plain scalar has the type that YAML 1.1 gives it, as for client-go.
Json JsonOfScalar(const YAML::Node& node) {
  bool truth = false;
  std::int64_t integer = 0;
  double number = 0;
  const bool plain = node.Tag() == "?";
  if (plain && YAML::convert<bool>::decode(node, truth)) return truth;
  if (plain && YAML::convert<std::int64_t>::decode(node, integer)) return integer;
  if (plain && YAML::convert<double>::decode(node, number) && std::isfinite(number)) return number;
  return node.Scalar();
}

// Empty: with those counted in `values` before, it has too many.
std::optional<Json> JsonOf(const YAML::Node& node, int& values) {
  if (++values > kMostValues) return std::nullopt;
  Json json;
  if (!node.IsDefined()) return json;
  if (node.IsScalar()) return JsonOfScalar(node);
  if (node.IsSequence()) json = Json::array();
  if (node.IsMap()) json = Json::object();
  for (const auto& each : node) {
    std::optional<Json> value = JsonOf(node.IsMap() ? each.second : each, values);
    if (!value) return std::nullopt;
    if (node.IsMap())
      json[each.first.Scalar()] = *std::move(value);
    else
      json.push_back(*std::move(value));
  }
  return json;
}

// A mapping of the document, and how messages name it: `kubeconfig /etc/x: user "u": `.
struct Fields {
  YAML::Node node;
  std::string where;

  bool Has(const std::string& key) const {
    const YAML::Node value = node[key];
    return value.IsDefined() && !value.IsNull();
  }
  // Empty when absent or null.
  std::string Text(const std::string& key) const {
    if (!Has(key)) return "";
    if (!node[key].IsScalar()) Refuse(where, absl::StrCat(key, " is not a text"));
    return node[key].Scalar();
  }
  bool Bool(const std::string& key) const {
    bool value = false;
    if (Has(key) && !YAML::convert<bool>::decode(node[key], value))
      Refuse(where, absl::StrCat(key, " is neither true nor false"));
    return value;
  }
  // The entries of a list; none when absent or null.
  YAML::Node List(const std::string& key) const {
    if (!Has(key)) return YAML::Node(YAML::NodeType::Sequence);
    if (!node[key].IsSequence()) Refuse(where, absl::StrCat(key, " is not a list"));
    return node[key];
  }
};

class Kubeconfig {
 public:
  Kubeconfig(const std::string& file, Fields document)
      : file_(file), document_(std::move(document)) {}

  ClusterAccess CurrentContext(const std::string& api_url) {
    ClusterAccess access;
    const std::string name = CurrentName();
    access.origin = absl::StrCat("kubeconfig ", file_, " (context ", Quoted(name), ")");
    const Fields context = Entry("context", name, "current-context");
    const Fields cluster = Referred(context, "cluster"), user = Referred(context, "user");
    ReadTls(cluster, access);
    ReadUser(user, access);
    ReadServer(cluster, api_url, access);
    if (access.exec && access.exec->provide_cluster_info) ReadExecConfig(cluster, *access.exec);
    Warn(access);
    return access;
  }

  ClusterAccess ServerFor(const ClusterAccess& own) {
    const Fields context = Entry("context", CurrentName(), "current-context");
    const Fields cluster = Referred(context, "cluster");
    ClusterAccess access = own;
    access.origin =
        absl::StrCat("our own credentials, address of the kubelet's kubeconfig ", file_);
    ReadAddress(cluster, access);
    if (!access.tls) {
      Refuse(cluster.where,
             "server is not \"https://\"; our token is sent only to a server that proves its "
             "identity");
    }
    return access;
  }

 private:
  static bool HasName(const YAML::Node& entry) {
    return entry.IsMap() && entry["name"].IsDefined() && entry["name"].IsScalar();
  }

  std::string CurrentName() const {
    const std::string kind = document_.Text("kind");
    if (!kind.empty() && kind != "Config")
      Refuse(document_.where, absl::StrCat("is a ", Quoted(kind), ", not a kubeconfig"));
    std::string name = document_.Text("current-context");
    if (!name.empty()) return name;
    std::vector<std::string> known;
    if (const YAML::Node contexts = document_.node["contexts"];
        contexts.IsDefined() && contexts.IsSequence()) {
      for (const YAML::Node& entry : contexts)
        if (HasName(entry)) known.push_back(Quoted(entry["name"].Scalar()));
    }
    Refuse(document_.where,
           absl::StrCat("current-context is not set; set it to one of contexts (",
                        known.empty() ? "there are none" : absl::StrJoin(known, ", "), ")"));
  }

  // The entry `name` of `contexts`, `clusters` or `users`; `desired_by` is the field that names it.
  Fields Entry(const std::string& what, const std::string& name,
               std::string_view desired_by) const {
    const std::string list = what + "s";
    std::optional<YAML::Node> found;
    for (const YAML::Node& entry : document_.List(list)) {
      if (!HasName(entry) || entry["name"].Scalar() != name) continue;
      if (found)
        Refuse(document_.where, absl::StrCat(list, " holds two with the name ", Quoted(name)));
      found.emplace(entry[what]);
    }
    if (!found) {
      Refuse(document_.where, absl::StrCat(desired_by, " is ", Quoted(name), ", which ", list,
                                           " does not hold; correct one of them"));
    }
    const std::string where = absl::StrCat(document_.where, what, " ", Quoted(name), ": ");
    if (!found->IsDefined() || found->IsNull())
      return Fields{YAML::Node(YAML::NodeType::Map), where};
    if (!found->IsMap()) Refuse(where, "is not a mapping");
    return Fields{*found, where};
  }

  // The cluster or user that a context names; empty Fields if it names none.
  Fields Referred(const Fields& context, const std::string& what) const {
    const std::string name = context.Text(what);
    if (!name.empty()) return Entry(what, name, absl::StrCat(context.where, what));
    return Fields{YAML::Node(YAML::NodeType::Map), context.where};
  }

  // Text out of `key`-data in base64, else the file that `key` names.
  void ReadSecretField(const Fields& fields, const std::string& key, Secret& into) const {
    const std::string inline_key = key + "-data";
    const std::string data = fields.Text(inline_key), path = fields.Text(key);
    if (!data.empty()) {
      if (!absl::Base64Unescape(data, &into.text) || into.text.empty())
        Refuse(fields.where, absl::StrCat(inline_key, " is not base64; write it again"));
    } else if (!path.empty()) {
      into.file = Absolute(path);
    }
  }

  // Relative to the kubeconfig's folder.
  std::string Absolute(const std::string& path) const {
    const auto from_utf8 = [](const std::string& text) {
      return std::filesystem::path(std::u8string(text.begin(), text.end()));
    };
    const std::u8string joined = (from_utf8(file_).parent_path() / from_utf8(path)).u8string();
    return {joined.begin(), joined.end()};
  }

  void ReadTls(const Fields& cluster, ClusterAccess& access) const {
    ReadSecretField(cluster, "certificate-authority", access.certificate_authority);
    access.insecure_skip_tls_verify = cluster.Bool("insecure-skip-tls-verify");
    if (access.insecure_skip_tls_verify && !access.certificate_authority.empty()) {
      Refuse(cluster.where,
             "has both insecure-skip-tls-verify and certificate-authority; remove the former");
    }
  }

  static void ReadAddress(const Fields& cluster, ClusterAccess& access) {
    const std::string server = cluster.Text("server");
    if (server.empty())
      Refuse(cluster.where, "server is not set; write \"server: https://ADDRESS:PORT\" there");
    Require(SetServer(server, cluster.where + "server", access));
    access.tls_server_name = cluster.Text("tls-server-name");
  }

  void ReadServer(const Fields& cluster, const std::string& api_url, ClusterAccess& access) const {
    if (api_url.empty())
      ReadAddress(cluster, access);
    else
      Require(SetServer(api_url, "kube-api-url", access));
    const std::string proxy_url = cluster.Text("proxy-url");
    if (!proxy_url.empty()) SetProxy(proxy_url, cluster.where + "proxy-url", access);
  }

  void ReadUser(const Fields& user, ClusterAccess& access) const {
    if (user.Has("auth-provider")) {
      Refuse(user.where,
             "auth-provider is not supported; give exec, tokenFile, token or a client certificate "
             "instead");
    }
    for (const char* const other : {"as", "as-uid", "as-groups", "as-user-extra"}) {
      if (!user.Has(other)) continue;
      Refuse(user.where, absl::StrCat(other,
                                      " (impersonation) is not supported; give the credentials of "
                                      "that account itself"));
    }
    ReadSecretField(user, "client-certificate", access.client_certificate);
    ReadSecretField(user, "client-key", access.client_key);
    const bool has_key = !access.client_key.empty();
    if (access.client_certificate.empty() == has_key) {
      Refuse(user.where,
             absl::StrCat("has a client-", has_key ? "key" : "certificate", " without a client-",
                          has_key ? "certificate" : "key", "; give both"));
    }
    ReadTexts(user, access);
    if (user.Has("exec")) ReadExec(user, access);
  }

  void ReadExec(const Fields& user, ClusterAccess& access) const {
    const Fields exec{user.node["exec"], absl::StrCat(user.where, "exec: ")};
    if (!exec.node.IsMap()) Refuse(exec.where, "is not a mapping");
    if (!access.token.empty() || !access.username.empty() || !access.password.empty() ||
        !access.client_certificate.empty())
      Refuse(exec.where, "other credentials are given too; remove them or exec");
    ExecPlugin& plugin = access.exec.emplace();
    plugin.kubeconfig = file_;
    plugin.command = exec.Text("command");
    plugin.api_version = exec.Text("apiVersion");
    plugin.install_hint = exec.Text("installHint");
    const std::string mode = exec.Text("interactiveMode");
    if (plugin.command.empty()) Refuse(exec.where, "command is not set");
    constexpr std::string_view kGroup = "client.authentication.k8s.io/";
    if (plugin.api_version != absl::StrCat(kGroup, "v1") &&
        plugin.api_version != absl::StrCat(kGroup, "v1beta1")) {
      Refuse(exec.where, absl::StrCat("apiVersion is ", Quoted(plugin.api_version),
                                      "; supported are ", kGroup, "v1 and v1beta1"));
    }
    if (mode == "Always") {
      Refuse(exec.where,
             "interactiveMode is Always, but flanneld has no terminal; give another plugin");
    }
    // v1 requires it; v1beta1's default is IfAvailable.
    const bool may_be_empty = plugin.api_version.ends_with("v1beta1");
    if (mode != "Never" && mode != "IfAvailable" && !(mode.empty() && may_be_empty)) {
      Refuse(exec.where,
             absl::StrCat("interactiveMode is ", Quoted(mode), ", neither Never nor IfAvailable"));
    }
    plugin.provide_cluster_info = exec.Bool("provideClusterInfo");
    ReadWords(exec, plugin);
    // As client-go has it: with a separator of this system it is relative to the kubeconfig's
    // folder, else a name in PATH.
    constexpr auto kSeparator = static_cast<char>(std::filesystem::path::preferred_separator);
    if (plugin.command.find(kSeparator) != std::string::npos)
      plugin.command = Absolute(plugin.command);
  }

  static void ReadExecConfig(const Fields& cluster, ExecPlugin& plugin) {
    constexpr std::string_view kName = "client.authentication.k8s.io/exec";
    int values = 0;
    for (const YAML::Node& each : cluster.List("extensions")) {
      if (!HasName(each) || each["name"].Scalar() != kName) continue;
      if (!plugin.cluster_config.empty())
        Refuse(cluster.where, absl::StrCat("extensions holds two with the name ", kName));
      const std::optional<Json> config = JsonOf(each["extension"], values);
      if (!config) {
        Refuse(cluster.where, absl::StrCat("the extension ", kName, " has more than ", kMostValues,
                                           " values; give the plugin a file"));
      }
      plugin.cluster_config = config->dump(-1, ' ', false, Json::error_handler_t::replace);
    }
  }

  static void ReadWords(const Fields& exec, ExecPlugin& plugin) {
    // A process's words and variables end at a zero byte.
    const auto fits = [](const std::string& text) { return text.find('\0') == std::string::npos; };
    if (!fits(plugin.command)) Refuse(exec.where, "command has a zero byte");
    for (const YAML::Node& each : exec.List("args")) {
      if (!each.IsScalar() || !fits(each.Scalar()))
        Refuse(exec.where, "args has an entry that is not a text");
      plugin.args.push_back(each.Scalar());
    }
    for (const YAML::Node& each : exec.List("env")) {
      const Fields pair{each, absl::StrCat(exec.where, "env: ")};
      if (!each.IsMap()) Refuse(pair.where, "an entry is not a mapping of name and value");
      const std::string name = pair.Text("name"), value = pair.Text("value");
      if (name.empty() || name.find('=') != std::string::npos || !fits(name) || !fits(value))
        Refuse(pair.where, "a name is empty or has \"=\", or a text has a zero byte");
      plugin.env.emplace_back(name, value);
    }
  }

  void ReadTexts(const Fields& user, ClusterAccess& access) const {
    const std::string token = user.Text("token"), token_file = user.Text("tokenFile");
    access.username = user.Text("username");
    access.password = user.Text("password");
    if (token_file.empty())
      access.token.text = token;
    else
      access.token.file = Absolute(token_file);
    if (!access.token.empty() && !(access.username.empty() && access.password.empty()))
      Refuse(user.where, "has both a token and a username or password; remove one of them");
  }

  static void Warn(ClusterAccess& access) {
    if (!access.tls) {
      const bool had = !access.token.empty() || !access.username.empty() ||
                       !access.client_certificate.empty() || access.exec.has_value();
      access.token = access.client_certificate = access.client_key = Secret();
      access.username = access.password = std::string();
      access.exec.reset();
      if (had) {
        access.warnings.push_back(
            absl::StrCat(access.origin,
                         ": the credentials are not used, since the server's address "
                         "is \"http://\"; write \"https://\""));
      }
    } else if (access.insecure_skip_tls_verify) {
      access.warnings.push_back(absl::StrCat(
          access.origin, ": insecure-skip-tls-verify is set, so any server at ", access.host,
          " is accepted as the API server and receives our credentials; give certificate-authority "
          "instead"));
    }
  }

  const std::string& file_;
  Fields document_;
};

// In place of a mapping. Nothing of the file is shown: it may be a secret.
std::string WhatItHolds(const YAML::Node& node) {
  constexpr std::size_t kLongestPath = 260;
  if (node.IsNull()) return "it is empty";
  if (!node.IsScalar()) return "it holds a list";
  const std::string& text = node.Scalar();
  std::string decoded;
  if (absl::Base64Unescape(text, &decoded) && absl::StrContains(decoded, "clusters"))
    return "all of it is base64; decode it with base64 -d, on Windows with certutil -decode";
  const bool path = text.size() < kLongestPath && text.find_first_of("/\\") != std::string::npos;
  return absl::StrCat("it holds one text of ", text.size(), " bytes",
                      path ? ", perhaps the path of the kubeconfig" : "");
}

// The exception's message may contain a piece of the text, so of it only an escape's letter is
// used.
std::string WhatIsWrong(const std::string& message) {
  constexpr char kEscapes[] =
      "; in double quotes a backslash begins an escape: write a path in single quotes, or each "
      "backslash twice";
  if (absl::StartsWith(message, YAML::ErrorMsg::INVALID_ESCAPE)) {
    const auto letter = static_cast<unsigned char>(message.back());
    return absl::StrCat("\\", std::string(1, absl::ascii_isgraph(letter) ? message.back() : '?'),
                        " is no escape", kEscapes);
  }
  if (message == YAML::ErrorMsg::INVALID_HEX ||
      absl::StartsWith(message, YAML::ErrorMsg::INVALID_UNICODE))
    return absl::StrCat(
        "\\x, \\u or \\U lacks its hexadecimal digits, as \\U does in \"C:\\Users\"", kEscapes);
  return "neither YAML nor JSON";
}

// `read`, given the document, may throw a Refusal and what yaml-cpp throws.
absl::StatusOr<ClusterAccess> Parse(std::string_view text, const std::string& file,
                                    std::string_view what, const auto& read) {
  const std::string where = absl::StrCat(what, " ", file, ": ");
  try {
    Fields document{YAML::Load(std::string(text)), where};
    if (!document.node.IsMap()) {
      Refuse(where, absl::StrCat("is not a kubeconfig: ", WhatItHolds(document.node),
                                 "; write the kubeconfig itself there"));
    }
    return read(Kubeconfig(file, std::move(document)));
  } catch (const Refusal& refusal) {
    return refusal.status;
  } catch (const YAML::ParserException& error) {
    return absl::InvalidArgumentError(absl::StrCat(where, "line ", error.mark.line + 1, ", column ",
                                                   error.mark.column + 1, ": ",
                                                   WhatIsWrong(error.msg)));
  } catch (const std::exception&) {
    return absl::InvalidArgumentError(where + "cannot be read as YAML or JSON");
  }
}

}  // namespace

absl::StatusOr<ClusterAccess> ParseKubeconfig(std::string_view text, const std::string& file,
                                              const std::string& api_url) {
  return Parse(text, file, "kubeconfig",
               [&](Kubeconfig document) { return document.CurrentContext(api_url); });
}

absl::StatusOr<ClusterAccess> WithKubeletServer(std::string_view text, const std::string& file,
                                                const ClusterAccess& own) {
  return Parse(text, file, "the kubelet's kubeconfig",
               [&](Kubeconfig document) { return document.ServerFor(own); });
}

}  // namespace weft::kube
