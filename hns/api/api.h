// SPDX-License-Identifier: Apache-2.0
// The functions of computenetwork.dll and vmcompute.dll. Each call is a value and goes through one
// method, so that a decorator can count, delay or refuse every call. Text is UTF-8 and owned by the
// reply. Implementations: the Windows DLLs, the emulator in process, the emulator behind a socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
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
  std::string text{};  // ids, properties, or HNSCall's response
  std::string
      error_record{};  // JSON; real HNS sets it also on success (empty, as hcsshim requires)
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

enum class Operation : std::uint8_t {
  kEnumerate,
  kCreate,
  kOpen,
  kModify,
  kQuery,
  kDelete,
  kClose,
  kCall,  // HNSCall; this and the next two have no kind of object
  kSubscribe,
  kUnsubscribe
};

// Names of functions that have no kind of object.
inline constexpr std::string_view kCallName = "HNSCall";
inline constexpr std::string_view kSubscribeName = "HcnRegisterServiceCallback";
inline constexpr std::string_view kUnsubscribeName = "HcnUnregisterServiceCallback";
// Whether a function of the two DLLs has this name. "HNSCall" may be followed by a method and a
// path.
bool IsFunctionName(std::string_view name);

// One call, with the arguments that its operation has.
struct ApiCall {
  Operation operation = Operation::kCall;
  Kind kind = Kind::kNetwork;
  Handle handle = Handle::kNone;  // of kCreate: the parent's
  Guid id{};
  std::string text{};            // query, settings, or HNSCall's request
  std::string method{}, path{};  // of kCall
  OnNotification notify{};       // of kSubscribe

  // "HcnEnumerateNetworks", "HcnQueryNamespaceProperties"; a string literal.
  std::string_view function() const;
  // Id, path or query; empty: the object of a handle.
  std::string object() const;
  // Create, Modify, Delete; HNSCall POST and DELETE.
  bool is_modifying() const;
  // Close, Unsubscribe: frees what an earlier call opened.
  bool is_releasing() const {
    return operation == Operation::kClose || operation == Operation::kUnsubscribe;
  }
};

// Synchronous: each call takes as long as the service takes. Any thread; the Api adds no locking to
// the service's. A function that the DLL lacks returns kFunctionNotFound, a DLL that does not exist
// kModuleNotFound.
class Api {
 public:
  virtual ~Api() = default;

  virtual Reply Make(const ApiCall& call) = 0;

  // A JSON array of ids. An empty `query` is passed as NULL.
  Reply Enumerate(Kind kind, std::string query) {
    return Make({.operation = Operation::kEnumerate, .kind = kind, .text = std::move(query)});
  }
  // `parent` is the network's handle for an endpoint, else kNone. The caller closes the reply's
  // handle.
  Reply Create(Kind kind, Handle parent, const Guid& id, std::string settings) {
    return Make({.operation = Operation::kCreate,
                 .kind = kind,
                 .handle = parent,
                 .id = id,
                 .text = std::move(settings)});
  }
  Reply Open(Kind kind, const Guid& id) {
    return Make({.operation = Operation::kOpen, .kind = kind, .id = id});
  }
  Reply Modify(Kind kind, Handle handle, std::string settings) {
    return Make({.operation = Operation::kModify,
                 .kind = kind,
                 .handle = handle,
                 .text = std::move(settings)});
  }
  // The object's properties: in schema 2 if `query` has SchemaVersion.Major 2, else in schema 1.
  Reply Query(Kind kind, Handle handle, std::string query) {
    return Make(
        {.operation = Operation::kQuery, .kind = kind, .handle = handle, .text = std::move(query)});
  }
  Reply Delete(Kind kind, const Guid& id) {
    return Make({.operation = Operation::kDelete, .kind = kind, .id = id});
  }
  Hresult Close(Kind kind, Handle handle) {
    return Make({.operation = Operation::kClose, .kind = kind, .handle = handle}).code;
  }

  // vmcompute.dll's HNSCall: v1 objects and the service's version.
  Reply Call(std::string method, std::string path, std::string request) {
    return Make({.text = std::move(request), .method = std::move(method), .path = std::move(path)});
  }

  // HcnRegisterServiceCallback. The subscription ends with the service; its last notification is
  // kServiceDisconnect, if the service still sends one.
  Reply Subscribe(OnNotification notify) {
    return Make({.operation = Operation::kSubscribe, .notify = std::move(notify)});
  }
  // After it returns no notification is in progress, and none follows.
  Hresult Unsubscribe(Handle handle) {
    return Make({.operation = Operation::kUnsubscribe, .handle = handle}).code;
  }
};

// This machine's HNS. On Windows it always succeeds: if a DLL or function is missing, each call
// returns that. Unimplemented elsewhere.
absl::StatusOr<std::unique_ptr<Api>> OpenApi();

}  // namespace weft::hns
