// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/cluster_access.h"

#include <exception>
#include <filesystem>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "control/child_process.h"
#include "control/kube/client/credentials_file.h"
#include "control/kube/client/credentials_kubeconfig.h"
#include "control/kube/client/url.h"
#include "control/own_files.h"

namespace weft::kube {
namespace {

constexpr std::string_view kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::string_view kOutside =
    "outside a pod give --kubeconfig-file (or FLANNELD_KUBECONFIG_FILE)";

// "" for the pod's own root, then the root of a HostProcess container's files.
std::vector<std::string> Roots(const Environment& environment) {
  std::vector<std::string> roots;
  if (auto mount = environment("CONTAINER_SANDBOX_MOUNT_POINT"); mount && !mount->empty()) {
    while (!mount->empty() && (mount->back() == '/' || mount->back() == '\\')) mount->pop_back();
    roots.push_back(*std::move(mount));
  }
  roots.emplace_back();
  return roots;
}

absl::StatusOr<ClusterAccess> InCluster(const Environment& environment) {
  const std::string host = environment("KUBERNETES_SERVICE_HOST").value_or("");
  const std::string port = environment("KUBERNETES_SERVICE_PORT").value_or("");
  if (host.empty() || port.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("in-cluster: environment variable KUBERNETES_SERVICE_",
                     host.empty() ? "HOST" : "PORT", " is not set, so this is no pod; ", kOutside));
  }
  ClusterAccess access;
  access.origin = "in-cluster";
  const bool v6 = host.find(':') != std::string::npos && host.front() != '[';
  if (auto set =
          SetServer(absl::StrCat("https://", v6 ? "[" : "", host, v6 ? "]:" : ":", port),
                    "in-cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT", access);
      !set.ok())
    return set;

  std::string inspected;
  for (const std::string& root : Roots(environment)) {
    const std::string folder = absl::StrCat(root, kServiceAccount);
    const auto token = ReadCredentialsFile(folder + "/token");
    if (token.ok()) {
      access.token.file = folder + "/token";
      access.certificate_authority.file = folder + "/ca.crt";
      return access;
    }
    absl::StrAppend(&inspected, inspected.empty() ? "" : ", ", folder, "/token ",
                    token.status().message());
  }
  return absl::UnauthenticatedError(absl::StrCat(
      "in-cluster: no service account token: ", inspected,
      "; does the pod have one (automountServiceAccountToken)? A HostProcess container "
      "needs CONTAINER_SANDBOX_MOUNT_POINT; ",
      kOutside));
}

absl::StatusOr<std::string> AbsolutePath(const std::string& path) {
  try {
    const auto absolute =
        std::filesystem::absolute(std::filesystem::path(std::u8string(path.begin(), path.end())));
    const std::u8string text = absolute.u8string();
    return std::string(text.begin(), text.end());
  } catch (const std::exception&) {  // not UTF-8, or no current folder
    return absl::InvalidArgumentError(
        absl::StrCat("kubeconfig ", path, ": its name cannot be used on this system; rename it"));
  }
}

// Who else can decide what the kubeconfig says, or what runs as its exec plugin.
std::string Exposed(const std::optional<ExecPlugin>& exec, const std::string& path,
                    const Environment& environment) {
  std::string found = control::WhoElseMayChange(path);
  if (exec) {
    const auto program = control::FindProgram(exec->command, environment("PATH").value_or(""),
                                              environment("PATHEXT").value_or(""));
    const std::string of_program = program.ok() ? control::WhoElseMayChange(*program) : "";
    absl::StrAppend(&found, found.empty() || of_program.empty() ? "" : "; ", of_program);
  }
  if (found.empty()) return found;
  return absl::StrCat("another user may choose flanneld's credentials: kubeconfig ", path, ": ",
                      found, "; let only root or Administrators own and write these");
}

absl::StatusOr<ClusterAccess> OfKubeconfig(const std::string& file, const std::string& api_url,
                                           const Environment& environment) {
  const auto path = AbsolutePath(file);
  if (!path.ok()) return path.status();
  const auto text = ReadCredentialsFile(*path);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat("kubeconfig ", *path, " ", text.status().message(),
                                     "; put it there or correct --kubeconfig-file"));
  }
  auto access = ParseKubeconfig(*text, *path, api_url);
  if (access.ok()) access->exposed = std::bind_front(Exposed, access->exec, *path, environment);
  return access;
}

absl::StatusOr<ClusterAccess> OfUrl(const std::string& api_url) {
  ClusterAccess access;
  access.origin = "kube-api-url, without credentials";
  if (auto set = SetServer(api_url, "kube-api-url", access); !set.ok()) return set;
  return access;
}

absl::StatusOr<ClusterAccess> Read(const std::string& kubeconfig_file, const std::string& api_url,
                                   const Environment& environment) {
  if (!kubeconfig_file.empty()) return OfKubeconfig(kubeconfig_file, api_url, environment);
  return api_url.empty() ? InCluster(environment) : OfUrl(api_url);
}

}  // namespace

absl::StatusOr<ClusterAccess> ReadClusterAccess(const std::string& kubeconfig_file,
                                                const std::string& api_url,
                                                const Environment& environment) {
  auto access = Read(kubeconfig_file, api_url, environment);
  if (access.ok() && !access->proxy) SetProxyOfEnvironment(environment, *access);
  return access;
}

absl::Status SetServer(std::string_view url, std::string_view field, ClusterAccess& access) {
  constexpr std::string_view kExample = "write it as \"https://10.0.0.1:6443\"";
  auto parsed = ParseUrl(absl::StripAsciiWhitespace(url));
  if (!parsed.ok()) return BadUrl(field, parsed.status().message(), kExample);
  const bool needs_tls = access.insecure_skip_tls_verify || !access.certificate_authority.empty() ||
                         !access.client_certificate.empty();
  if (parsed->scheme.empty()) parsed->scheme = needs_tls ? "https" : "http";
  if (parsed->scheme != "https" && parsed->scheme != "http")
    return BadUrl(field, absl::StrCat("\"", parsed->scheme, "://\" is not supported"), kExample);
  if (!parsed->username.empty() || !parsed->password.empty()) {
    return BadUrl(field, "it holds a user name or password",
                  "they belong in the kubeconfig's user, as username and password");
  }
  access.tls = parsed->scheme == "https";
  access.host = parsed->host;
  access.port = parsed->port != 0 ? parsed->port
                : access.tls      ? std::uint16_t{443}
                                  : std::uint16_t{80};
  access.path = parsed->path;
  return absl::OkStatus();
}

}  // namespace weft::kube
