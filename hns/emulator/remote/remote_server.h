// SPDX-License-Identifier: Apache-2.0
// Serves an Api to other processes (RemoteApi at their end).
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "hns/api/api.h"
#include "hns/emulator/remote/client_view.h"
#include "hns/emulator/remote/host_face.h"
#include "hns/emulator/remote/stream.h"

namespace weft::hns::emulator {

// Answers RemoteApi::Control. Any thread.
using OnControl = std::function<Reply(const std::string& command)>;
// The service as a process sees it that begins now (Emulator::NewProcess).
using NewProcess = std::function<std::unique_ptr<Api>()>;

// A thread for each connection, so that slow calls hold up nobody else's. `service`, `control` and
// `host` outlive it. Without `process` all clients see `service` itself.
class RemoteServer {
 public:
  static absl::StatusOr<std::unique_ptr<RemoteServer>> Start(const std::string& address,
                                                             Api& service, OnControl control,
                                                             HostFace* host = nullptr,
                                                             NewProcess process = nullptr);
  // Ends every connection; waits for the calls under way.
  ~RemoteServer();

  // As RemoteApi takes it.
  const std::string& address() const { return listener_->address(); }

 private:
  class Connection;

  RemoteServer(std::unique_ptr<Listener> listener, Api& service, OnControl control, HostFace* host,
               NewProcess process);
  void Accept();
  // The view that all connections of a client share.
  std::shared_ptr<ClientView> ViewOf(const std::string& identity);

  const std::unique_ptr<Listener> listener_;
  Api& service_;
  const OnControl control_;
  HostFace* const host_;  // null: there is none
  const NewProcess process_;
  std::mutex mutex_;
  bool ending_ = false;                                     // guarded by mutex_
  std::list<std::unique_ptr<Connection>> connections_;      // guarded by mutex_
  std::map<std::string, std::weak_ptr<ClientView>> views_;  // guarded by mutex_
  std::thread acceptor_;
};

}  // namespace weft::hns::emulator
