// SPDX-License-Identifier: Apache-2.0
// The functions of computenetwork.dll and vmcompute.dll, one method for each kind of call, so that
// a decorator can count, delay or refuse every call. Text is UTF-8 and owned by the reply.
// Implementations: the Windows DLLs, the emulator in process, the emulator behind a socket.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "hns/api/hresult.h"
#include "hns/document/guid.h"

namespace weft::hns {

// The kind of object of an Hcn* function: HcnOpenNetwork, HcnOpenEndpoint, ...
enum class Kind : std::uint8_t { kNetwork, kEndpoint, kNamespace, kLoadBalancer };

// Returned by Open, Create and Subscribe. Valid for the Api that returned it, until it is closed or
// the service restarts.
enum class Handle : std::uint64_t { kNone = 0 };

struct Reply {
  Hresult code = hresult::kOk;
  std::string text;          // ids, properties, or HNSCall's response
  std::string error_record;  // JSON; real HNS sets it also on success (empty, as hcsshim requires)
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
// `data` is JSON, often {"ID":"<guid>","Flags":0}. Called on a thread of the service: it only
// posts, and calls no function of the Api.
using OnNotification = std::function<void(Notification type, std::string_view data)>;

// Synchronous: each call takes as long as the service takes. Any thread; the Api adds no locking to
// the service's. A function that the DLL lacks returns kFunctionNotFound, a DLL that does not exist
// kModuleNotFound.
class Api {
 public:
  virtual ~Api() = default;

  // A JSON array of ids. An empty `query` is passed as NULL.
  virtual Reply Enumerate(Kind kind, const std::string& query) = 0;
  // `parent` is the network's handle for an endpoint, else kNone. The caller closes the reply's
  // handle.
  virtual Reply Create(Kind kind, Handle parent, const Guid& id, const std::string& settings) = 0;
  virtual Reply Open(Kind kind, const Guid& id) = 0;
  virtual Reply Modify(Kind kind, Handle handle, const std::string& settings) = 0;
  // The object's properties: in schema 2 if `query` has SchemaVersion.Major 2, else in schema 1.
  virtual Reply Query(Kind kind, Handle handle, const std::string& query) = 0;
  virtual Reply Delete(Kind kind, const Guid& id) = 0;
  virtual Hresult Close(Kind kind, Handle handle) = 0;

  // vmcompute.dll's HNSCall: v1 objects and the service's version.
  virtual Reply Call(const std::string& method, const std::string& path,
                     const std::string& request) = 0;

  // HcnRegisterServiceCallback. The subscription ends with the service; its last notification is
  // kServiceDisconnect, if the service still sends one.
  virtual Reply Subscribe(OnNotification notify) = 0;
  // After it returns no notification is in progress, and none follows.
  virtual Hresult Unsubscribe(Handle handle) = 0;
};

}  // namespace weft::hns
