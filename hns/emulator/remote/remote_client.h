// SPDX-License-Identifier: Apache-2.0
// A client's connections to a server. One that was lost is made anew with the next call.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "hns/emulator/remote/remote_protocol.h"
#include "hns/emulator/remote/stream.h"

namespace weft::hns::emulator {

// Any thread. Each call under way has a connection of its own; to the server they are one client.
class RemoteClient {
 public:
  // Connects when it is first called. `address` as in stream.h.
  explicit RemoteClient(std::string address);

  const std::string& address() const { return address_; }
  // kNoMoreEndpoints: nobody answers there; kRpcCallFailed: the connection was lost amid the call.
  Reply Ask(const Request& request);
  // The connection on which this was answered, for the notices that come after; null where the
  // reply is no success.
  std::pair<Reply, std::unique_ptr<Stream>> Begin(const Request& request);

 private:
  using Connection = std::unique_ptr<Stream>;

  Connection TakeConnection();  // null: nobody answers
  Connection Dial() const;

  const std::string address_;
  const std::string identity_;
  std::mutex mutex_;
  std::vector<Connection> idle_;  // guarded by mutex_
};

}  // namespace weft::hns::emulator
