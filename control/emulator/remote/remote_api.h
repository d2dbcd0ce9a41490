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

  Reply Enumerate(Kind kind, const std::string& query) override;
  Reply Create(Kind kind, Handle parent, const Guid& id, const std::string& settings) override;
  Reply Open(Kind kind, const Guid& id) override;
  Reply Modify(Kind kind, Handle handle, const std::string& settings) override;
  Reply Query(Kind kind, Handle handle, const std::string& query) override;
  Reply Delete(Kind kind, const Guid& id) override;
  Hresult Close(Kind kind, Handle handle) override;
  Reply Call(const std::string& method, const std::string& path,
             const std::string& request) override;
  // The loss of the server is notified as kServiceDisconnect too.
  Reply Subscribe(OnNotification notify) override;
  Hresult Unsubscribe(Handle handle) override;

  // Sends a command to the emulator itself, as JSON; the reply's text is JSON too.
  Reply Control(const std::string& command);

 private:
  class Subscription;
  using Connection = std::unique_ptr<Stream>;

  Reply Send(const Request& request);

  RemoteClient client_;
  std::mutex mutex_;
  std::map<Handle, std::unique_ptr<Subscription>> subscriptions_;  // guarded by mutex_
};

}  // namespace weft::hns::emulator
