// SPDX-License-Identifier: Apache-2.0
// HNS's notifications. It calls on threads of its own and nothing says that it is done with a
// context when HcnUnregisterServiceCallback returns; so it is given a number, not an address.
#pragma once

#include <windows.h>

#include <computenetwork.h>

#include "hns/api/api.h"

namespace weft::hns {

// One for each Api; what is left is ended with it. Any thread.
class Subscriptions {
 public:
  Subscriptions(decltype(&::HcnRegisterServiceCallback) begin,
                decltype(&::HcnUnregisterServiceCallback) end)
      : begin_(begin), end_(end) {}
  ~Subscriptions();
  Subscriptions(const Subscriptions&) = delete;
  Subscriptions& operator=(const Subscriptions&) = delete;

  // Both functions are there; without them nothing below is called.
  bool possible() const { return begin_ != nullptr && end_ != nullptr; }
  Reply Begin(OnNotification notify);
  // Returns once no notification is under way. kInvalidHandle: there is no such subscription.
  Hresult End(Handle handle);

 private:
  const decltype(&::HcnRegisterServiceCallback) begin_;
  const decltype(&::HcnUnregisterServiceCallback) end_;
};

}  // namespace weft::hns
