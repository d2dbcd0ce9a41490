// SPDX-License-Identifier: Apache-2.0
// The credentials of an exec plugin: runs it when they are needed, and keeps them until shortly
// before they expire or the server refuses them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "control/kube/client/cluster_access.h"
#include "control/kube/client/exec_plugin.h"

namespace weft::kube {

// One thread, the io_context's; the plugin runs on another. One process at a time.
class ExecCredentials {
 public:
  // Below the half minute in which list-and-watch expects an answer.
  static constexpr std::chrono::milliseconds kLimit = std::chrono::seconds(25);
  // Credentials are replaced this long before they expire, or in the last tenth of their time.
  static constexpr absl::Duration kEarly = absl::Minutes(1);

  using Credential = std::shared_ptr<const ExecCredential>;
  // kUnauthenticated: names the plugin, the cause and the next step.
  using Done = std::function<void(const absl::StatusOr<Credential>&)>;

  // `access` has an exec plugin. `now`: the wall clock.
  ExecCredentials(boost::asio::io_context& io, ClusterAccess access,
                  std::function<absl::Time()> now, std::chrono::milliseconds limit = kLimit);
  // Kills the plugin with its children; waiting calls of Get end without `done`.
  ~ExecCredentials();
  ExecCredentials(const ExecCredentials&) = delete;
  ExecCredentials& operator=(const ExecCredentials&) = delete;

  // `done` is called within Get if there are credentials, else when the plugin has ended.
  void Get(Done done);
  // The server answered 401: the next Get runs the plugin, unless there are newer ones by then.
  void Refused(const Credential& credential);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

// Unauthenticated: another user may write the kubeconfig or the plugin.
absl::Status CheckExecFiles(const ExecPlugin& plugin, const std::string& program);

}  // namespace weft::kube
