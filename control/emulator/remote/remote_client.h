// SPDX-License-Identifier: Apache-2.0
// A client's connections to a server. One that was lost is made again with the next call.
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
  // kNoMoreEndpoints: no server there; kRpcCallFailed: the connection was lost during the call.
  Reply Ask(const Request& request);
  // The connection on which this was answered, for the notices that come after; null where the
  // reply is no success.
  std::pair<Reply, std::unique_ptr<Stream>> Begin(const Request& request);

 private:
  using Connection = std::unique_ptr<Stream>;

  Connection TakeConnection();  // null: nobody answers
  Connection Dial() const;

  const std::string path_;
  const std::string identity_;
  std::mutex mutex_;
  std::vector<Connection> idle_;  // guarded by mutex_
};

}  // namespace weft::hns::emulator
