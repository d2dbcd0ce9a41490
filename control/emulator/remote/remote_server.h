// SPDX-License-Identifier: Apache-2.0
// Serves an Api to other processes, which use RemoteApi.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "control/emulator/remote/remote_protocol.h"
#include "hns/api/api.h"

namespace weft::hns::emulator {

// The host of the service, for the clients of a server. Any thread.
class HostFace {
 public:
  virtual ~HostFace() = default;
  // The form of `call` and of the reply's text is known to the two ends only.
  virtual Reply Answer(const std::string& call) = 0;
  // Calls `changed` on any thread while what it returns exists; null: it cannot be watched.
  virtual std::shared_ptr<void> Watch(std::function<void()> changed) = 0;
};

// Answers RemoteApi::Control. Any thread.
using OnControl = std::function<Reply(const std::string& command)>;
// Returns the service for a new client process (Emulator::NewProcess).
using NewProcess = std::function<std::unique_ptr<Api>()>;

// A thread for each connection, so that a slow call delays no other client's. `service`, `control`
// and `host` outlive it. Without `process` all clients use `service` itself.
class RemoteServer {
 public:
  // `path`: of a Unix-domain socket or a named pipe, accessible to its owner only. `answered` is
  // called after each request, before its reply.
  static absl::StatusOr<std::unique_ptr<RemoteServer>> Start(
      const std::string& path, Api& service, OnControl control, HostFace* host = nullptr,
      NewProcess process = nullptr, std::function<void()> answered = nullptr);
  // Ends every connection; waits for the calls in progress.
  ~RemoteServer();

  const std::string& path() const { return path_; }

 private:
  class Acceptor;
  class ClientView;
  class Connection;

  RemoteServer(std::string path, Api& service, OnControl control, HostFace* host,
               NewProcess process, std::function<void()> answered);
  void Add(std::unique_ptr<Stream> stream);
  // The view that all connections of a client share.
  std::shared_ptr<ClientView> ViewOf(const std::string& identity);

  const std::string path_;
  Api& service_;
  const OnControl control_;
  HostFace* const host_;  // null: there is none
  const NewProcess process_;
  const std::function<void()> answered_;
  std::mutex mutex_;
  std::list<std::unique_ptr<Connection>> connections_;      // guarded by mutex_
  std::map<std::string, std::weak_ptr<ClientView>> views_;  // guarded by mutex_
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace weft::hns::emulator
