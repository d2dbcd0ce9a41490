// SPDX-License-Identifier: Apache-2.0
// HNS's notifications. HNS calls on its own threads, and may use the context after
// HcnUnregisterServiceCallback has returned; so the context is a number, not an address.
#pragma once

#include <windows.h>

#include <computenetwork.h>

#include "hns/api/api.h"

namespace weft::hns {

// One for each Api; its destructor ends the subscriptions. Any thread.
class Subscriptions {
 public:
  Subscriptions(decltype(&::HcnRegisterServiceCallback) begin,
                decltype(&::HcnUnregisterServiceCallback) end)
      : begin_(begin), end_(end) {}
  ~Subscriptions();
  Subscriptions(const Subscriptions&) = delete;
  Subscriptions& operator=(const Subscriptions&) = delete;

  // Whether the DLL has both functions; without them call neither Begin nor End.
  bool possible() const { return begin_ != nullptr && end_ != nullptr; }
  Reply Begin(OnNotification notify);
  // Returns once no notification is in progress. kInvalidHandle: there is no such subscription.
  Hresult End(Handle handle);

 private:
  const decltype(&::HcnRegisterServiceCallback) begin_;
  const decltype(&::HcnUnregisterServiceCallback) end_;
};

}  // namespace weft::hns
