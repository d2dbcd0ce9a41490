// SPDX-License-Identifier: Apache-2.0
// The emulator in another process, as an Api. Without a server, calls return what a stopped service
// returns.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "control/emulator/remote/remote_client.h"
#include "control/emulator/remote/remote_protocol.h"
#include "hns/api/api.h"

namespace weft::hns::emulator {

// Any thread. Each call under way has a connection of its own; together they are one client, whose
// handles last until its last connection ends.
class RemoteApi final : public Api {
 public:
  // Connects when it is first called. `path` as RemoteClient takes it.
  explicit RemoteApi(std::string path);
  ~RemoteApi() override;

  // The loss of the server is notified as kServiceDisconnect too.
  Reply Make(const ApiCall& call) override;

  // Sends a command to the emulator itself, as JSON; the reply's text is JSON too.
  Reply Control(const std::string& command);

 private:
  class Subscription;
  using Connection = std::unique_ptr<Stream>;

  Reply BeginSubscription(const ApiCall& call);
  Hresult EndSubscription(Handle handle);

  RemoteClient client_;
  std::mutex mutex_;
  std::map<Handle, std::unique_ptr<Subscription>> subscriptions_;  // guarded by mutex_
};

}  // namespace weft::hns::emulator
