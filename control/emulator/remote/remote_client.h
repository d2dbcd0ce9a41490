// SPDX-License-Identifier: Apache-2.0
// A client's connections to a server. A lost connection is replaced at the next call.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "control/emulator/remote/remote_protocol.h"

namespace weft::hns::emulator {

// Any thread. Each call under way has a connection of its own; to the server they are one client.
class RemoteClient {
 public:
  // Connects when it is first called. `path`: a Unix-domain socket's, or a named pipe's name.
  explicit RemoteClient(std::string path);

  const std::string& path() const { return path_; }
  // kNoMoreEndpoints: no server listens; kRpcCallFailed: the connection was lost during the call.
  Reply Send(const Request& request);
  // The reply and its connection, for the notices that follow; null if the reply is an error.
  std::pair<Reply, std::unique_ptr<Stream>> Begin(const Request& request);

 private:
  using Connection = std::unique_ptr<Stream>;

  Connection TakeConnection();  // null: no server answers
  Connection Dial() const;

  const std::string path_;
  const std::string identity_;
  std::mutex mutex_;
  std::vector<Connection> idle_;  // guarded by mutex_
};

}  // namespace weft::hns::emulator
