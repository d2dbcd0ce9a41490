// SPDX-License-Identifier: Apache-2.0
// The service for one of several client processes: its handles are invalid for other processes, and
// end with the process.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "hns/api/api.h"

namespace weft::hns::emulator {

// Any thread. `service` outlives it.
class ClientView final : public Api {
 public:
  explicit ClientView(Api& service) : service_(service) {}
  explicit ClientView(std::unique_ptr<Api> process)
      : process_(std::move(process)), service_(*process_) {}
  // Closes all open handles. No call may be in progress.
  ~ClientView() override;

  Reply Enumerate(Kind kind, const std::string& query) override;
  Reply Create(Kind kind, Handle parent, const Guid& id, const std::string& settings) override;
  Reply Open(Kind kind, const Guid& id) override;
  Reply Modify(Kind kind, Handle handle, const std::string& settings) override;
  Reply Query(Kind kind, Handle handle, const std::string& query) override;
  Reply Delete(Kind kind, const Guid& id) override;
  Hresult Close(Kind kind, Handle handle) override;
  Reply Call(const std::string& method, const std::string& path,
             const std::string& request) override;
  Reply Subscribe(OnNotification notify) override;
  Hresult Unsubscribe(Handle handle) override;

 private:
  Reply Keep(Kind kind, Reply reply);
  // The handle or, if it is not this process's, one that does not exist, which the service refuses.
  Handle Own(Kind kind, Handle handle);

  const std::unique_ptr<Api> process_;  // may be null
  Api& service_;
  std::mutex mutex_;
  std::set<std::pair<Kind, Handle>> open_;  // guarded by mutex_
  std::set<Handle> subscriptions_;          // guarded by mutex_
};

}  // namespace weft::hns::emulator
