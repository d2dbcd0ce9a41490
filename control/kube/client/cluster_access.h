// SPDX-License-Identifier: Apache-2.0
// The address of the API server and our credentials, from a kubeconfig or a pod's service account.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/kube/client/exec_plugin.h"

namespace weft::kube {

// Text given inline, or the file that contains it. A file is read again for every connection, so
// that rotated credentials are used. Never printed.
struct Secret {
  std::string text;
  std::string file;  // absolute, UTF-8; used only if `text` is empty
  bool empty() const { return text.empty() && file.empty(); }
};

// An HTTP proxy, used by CONNECT for a tunnel or, for an "http://" server, with the resource's
// whole URL.
struct Proxy {
  std::string host;
  std::uint16_t port = 80;
  std::string username, password;  // never printed
};

struct ClusterAccess {
  bool tls = true;  // false: "http://"
  std::string host;
  std::uint16_t port = 443;
  std::string path;             // precedes "/api"; no slash at its end
  std::string tls_server_name;  // empty: `host`
  bool insecure_skip_tls_verify = false;
  Secret certificate_authority;           // PEM; empty: the system's authorities
  Secret client_certificate, client_key;  // PEM; both or none
  Secret token;
  std::string username, password;  // basic authentication
  std::optional<ExecPlugin> exec;  // supplies the token or client certificate
  std::optional<Proxy> proxy;
  std::string origin;                 // for people: "kubeconfig /etc/x (context y)", "in-cluster"
  std::vector<std::string> warnings;  // each one sentence
  // Of a kubeconfig: returns which other users may change it, its exec plugin or a folder of theirs
  // now, as a sentence; empty: none. Null: there is no kubeconfig.
  std::function<std::string()> exposed;
};

// Looks up a variable of the process's environment.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

// Upstream v0.28.9's rule: with neither flag, the pod's service account (KUBERNETES_SERVICE_HOST
// and _PORT, also under CONTAINER_SANDBOX_MOUNT_POINT); else the current context of
// `kubeconfig_file`, its server replaced by `api_url` if given; `api_url` alone means no
// credentials. Errors name file, field and next step, and never a secret.
absl::StatusOr<ClusterAccess> ReadClusterAccess(const std::string& kubeconfig_file,
                                                const std::string& api_url,
                                                const Environment& environment);

// Sets tls, host, port and path of `access` from a server's address. An address without a scheme is
// https if `access` already has a setting that only TLS uses. Errors begin with `field`.
absl::Status SetServer(std::string_view url, std::string_view field, ClusterAccess& access);

// "http://user:password@host:port", or without the scheme. Errors begin with `field`.
absl::StatusOr<Proxy> ParseProxy(std::string_view url, std::string_view field);

// Sets the proxy of `access`, of which the server is set. One that cannot be used is a warning, and
// the server is requested without it: most can be reached so.
void SetProxy(std::string_view url, std::string_view field, ClusterAccess& access);

// The same for `access`'s host by HTTPS_PROXY, HTTP_PROXY and NO_PROXY, also in lower case, as Go
// reads them. None for localhost and loopback addresses.
void SetProxyOfEnvironment(const Environment& environment, ClusterAccess& access);

}  // namespace weft::kube
