// SPDX-License-Identifier: Apache-2.0
// The functions of computenetwork.dll and vmcompute.dll, one method for each kind of call, so that
// every call can be counted, slowed down and refused alike. Text is UTF-8 and owned by the reply.
// Implementations: the Windows DLLs, the emulator in process, the emulator behind a socket.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "hns/api/hresult.h"
#include "hns/document/guid.h"

namespace weft::hns {

// Whose Hcn* functions: HcnOpenNetwork, HcnOpenEndpoint, ...
enum class Kind : std::uint8_t { kNetwork, kEndpoint, kNamespace, kLoadBalancer };

// What Open, Create and Subscribe return: valid on the Api that returned it, until it is closed or
// the service restarts.
enum class Handle : std::uint64_t { kNone = 0 };

struct Reply {
  Hresult code = hresult::kOk;
  std::string text;          // ids, properties, or HNSCall's response
  std::string error_record;  // JSON; on real HNS also on success (empty there, as hcsshim wants it)
  Handle handle = Handle::kNone;
  bool ok() const { return !Failed(code); }
};

// HCN_NOTIFICATIONS of computenetwork.h.
enum class Notification : std::uint32_t {
  kNetworkPreCreate = 1,
  kNetworkCreate = 2,
  kNetworkPreDelete = 3,
  kNetworkDelete = 4,
  kNamespaceCreate = 5,
  kNamespaceDelete = 6,
  kNetworkEndpointAttached = 9,
  kNetworkEndpointDetached = 0x10,
  kServiceDisconnect = 0x01000000,
};
// `data` is JSON, often {"ID":"<guid>","Flags":0}. Called on a thread of the service: it posts, and
// calls no function of the Api.
using OnNotification = std::function<void(Notification type, std::string_view data)>;

// Synchronous: each call takes as long as the service takes. Any thread; the Api itself guards
// nothing that the service does not guard. A function that the DLL lacks answers kFunctionNotFound,
// a DLL that is not there kModuleNotFound.
class Api {
 public:
  virtual ~Api() = default;

  // A JSON array of ids. An empty `query` is passed as NULL.
  virtual Reply Enumerate(Kind kind, const std::string& query) = 0;
  // `parent` is the network's handle for an endpoint, kNone for all else. The reply's handle is
  // open and is closed by the caller.
  virtual Reply Create(Kind kind, Handle parent, const Guid& id, const std::string& settings) = 0;
  virtual Reply Open(Kind kind, const Guid& id) = 0;
  virtual Reply Modify(Kind kind, Handle handle, const std::string& settings) = 0;
  // The object's properties: v2's shape when `query` says SchemaVersion.Major 2, else v1's.
  virtual Reply Query(Kind kind, Handle handle, const std::string& query) = 0;
  virtual Reply Delete(Kind kind, const Guid& id) = 0;
  virtual Hresult Close(Kind kind, Handle handle) = 0;

  // vmcompute.dll's HNSCall: v1 objects and the service's version.
  virtual Reply Call(const std::string& method, const std::string& path,
                     const std::string& request) = 0;

  // HcnRegisterServiceCallback. The subscription dies with the service; its last notification is
  // kServiceDisconnect, where the service comes to that.
  virtual Reply Subscribe(OnNotification notify) = 0;
  // No notification is under way or comes any more when it returns.
  virtual Hresult Unsubscribe(Handle handle) = 0;
};

}  // namespace weft::hns
