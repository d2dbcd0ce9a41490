// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/cluster_servers.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/file_io.h"
#include "control/kube/client/api_carrier_tls.h"
#include "control/kube/client/credentials_file.h"
#include "control/kube/client/credentials_kubeconfig.h"
#include "control/own_files.h"

namespace weft::kube {
namespace {

constexpr std::size_t kMostServers = 16;

std::vector<std::string> Urls(const std::vector<std::string>& flags) {
  std::vector<std::string> urls;
  for (const std::string& flag : flags) {
    for (const std::string_view each : absl::StrSplit(flag, ',')) {
      const std::string url(absl::StripAsciiWhitespace(each));
      if (!url.empty()) urls.push_back(url);
    }
  }
  return urls;
}

bool SameServer(const ClusterAccess& a, const ClusterAccess& b) {
  return std::tie(a.tls, a.host, a.port, a.path) == std::tie(b.tls, b.host, b.port, b.path);
}

// Where the file may be: below the root of a HostProcess container's files, then as given.
std::vector<std::string> Places(const std::string& file, const Environment& environment) {
  std::vector<std::string> places;
  const std::string mount =
      control::WithoutEndSlash(environment("CONTAINER_SANDBOX_MOUNT_POINT").value_or(""));
  if (!mount.empty()) {
    const std::u8string below = control::PathOf(file).relative_path().generic_u8string();
    places.push_back(absl::StrCat(mount, "/", std::string(below.begin(), below.end())));
  }
  places.push_back(control::OnSystemDrive(file));
  return places;
}

}  // namespace

absl::StatusOr<ClusterServers> ReadClusterServers(const ClusterFlags& flags,
                                                  const Environment& environment) {
  std::vector<std::string> urls = Urls(flags.api_urls);
  if (urls.size() > kMostServers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kube-api-url: ", urls.size(), " servers are more than ", kMostServers, "; give fewer"));
  }
  if (urls.empty()) urls.emplace_back();
  ClusterServers all;
  for (const std::string& url : urls) {
    auto access = ReadClusterAccess(flags.kubeconfig_file, url, environment);
    if (!access.ok()) return access.status();
    const auto same = [&](const ClusterAccess& each) { return SameServer(each, *access); };
    if (std::none_of(all.servers.begin(), all.servers.end(), same))
      all.servers.push_back(*std::move(access));
  }
  const bool named = !flags.kubeconfig_file.empty() || !urls.front().empty();
  if (named || flags.kubelet_kubeconfig.empty()) return all;
  all.fallback_name =
      absl::StrCat("the server in the kubelet's kubeconfig ", flags.kubelet_kubeconfig);
  all.fallback = [file = flags.kubelet_kubeconfig, own = all.servers.front(), environment] {
    return ReadKubeletServer(file, own, environment);
  };
  return all;
}

std::set<std::string> ClusterKeys(const ClusterServers& servers) {
  std::set<std::string> keys;
  for (const ClusterAccess& access : servers.servers)
    for (std::string& key : ClusterKeys(access)) keys.insert(std::move(key));
  return keys;
}

absl::StatusOr<ClusterAccess> ReadKubeletServer(const std::string& file, const ClusterAccess& own,
                                                const Environment& environment) {
  const std::vector<std::string> places = Places(file, environment);
  std::string path = places.back();
  std::filesystem::file_status found;
  for (const std::string& place : places) {
    std::error_code error;
    found = std::filesystem::symlink_status(control::PathOf(place), error);
    if (found.type() == std::filesystem::file_type::not_found) continue;
    path = place;
    break;
  }
  const std::string name = absl::StrCat("the kubelet's kubeconfig ", path);
  if (std::filesystem::is_symlink(found)) {
    return absl::PermissionDeniedError(
        absl::StrCat(name, " is a link; give --kubelet-kubeconfig the file itself"));
  }
  if (const absl::Status owned = control::CheckOwn(path); !owned.ok()) {
    return absl::PermissionDeniedError(
        absl::StrCat("the kubelet's kubeconfig ", owned.message(),
                     ": it is not used, since another user could name the server; let only root "
                     "or Administrators own and write it"));
  }
  const auto text = ReadCredentialsFile(path);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat(name, " ", text.status().message(),
                                     "; correct --kubelet-kubeconfig, or leave it empty"));
  }
  auto access = WithKubeletServer(*text, path, own);
  if (!access.ok()) return access.status();
  if (SameServer(*access, own)) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " names the same server as the pod's environment"));
  }
  SetProxyOfEnvironment(environment, *access);
  return access;
}

}  // namespace weft::kube
