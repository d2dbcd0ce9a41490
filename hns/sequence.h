// SPDX-License-Identifier: Apache-2.0
// Decides the order of HNS calls without making one. A Sequence is a coroutine that suspends at
// each call and resumes with its answer: Caller makes the calls; tests supply the answers.
#pragma once

#include <coroutine>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hns/client.h"
#include "hns/document/endpoint.h"
#include "hns/document/guid.h"
#include "hns/document/network.h"
#include "hns/retry_delay.h"
#include "hns/version.h"

namespace weft::hns {

// The calls; Client documents each. One network is open at a time: OpenNetwork and CreateNetwork
// close the one before; ReadNetwork and ModifyNetwork act on the open one.
struct ReadVersion {
  using Answer = absl::StatusOr<Version>;
};
// Whether `status`, the result of an earlier call, means that the service does not run.
struct CheckService {
  using Answer = bool;
  absl::Status status;
};
struct ListNetworks {
  using Answer = absl::StatusOr<std::vector<Network>>;
  std::string name;  // empty: all
};
// `network`, completed from schema 1; unchanged if that cannot be read.
struct ReadSchema1 {
  using Answer = Network;
  Network network;
};
struct ListEndpoints {
  using Answer = absl::StatusOr<std::vector<Endpoint>>;
  Guid network;
  std::vector<Unread>* unread = nullptr;
};
struct OpenNetwork {
  using Answer = absl::Status;
  Network network;
};
struct CreateNetwork {
  using Answer = absl::Status;
  Network document;
};
struct CloseNetwork {
  using Answer = absl::Status;
};
struct ReadNetwork {
  using Answer = absl::StatusOr<Network>;
};
struct ModifyNetwork {
  using Answer = absl::Status;
  bool add = true;  // else remove
  std::vector<Policy> policies;
};
struct DeleteNetwork {
  using Answer = absl::Status;
  Guid id;
  std::string name;
};
struct DeleteEndpoint {
  using Answer = absl::Status;
  Guid id;
  std::string name;
};
// HNSCall, schema 1; the answer is its output. `what` is for messages: "list the networks".
struct CallSchema1 {
  using Answer = absl::StatusOr<std::string>;
  std::string what, method, path, request;
};

using Call = std::variant<ReadVersion, CheckService, ListNetworks, ReadSchema1, ListEndpoints,
                          OpenNetwork, CreateNetwork, CloseNetwork, ReadNetwork, ModifyNetwork,
                          DeleteNetwork, DeleteEndpoint, CallSchema1>;
using Answer = std::variant<absl::Status, bool, Network, absl::StatusOr<Version>,
                            absl::StatusOr<Network>, absl::StatusOr<std::vector<Network>>,
                            absl::StatusOr<std::vector<Endpoint>>, absl::StatusOr<std::string>>;

// The status within an answer.
inline const absl::Status& StatusIn(const absl::Status& answer) { return answer; }
template <typename T>
const absl::Status& StatusIn(const absl::StatusOr<T>& answer) {
  return answer.status();
}

// The call at which a sequence is suspended, shared with the code that resumes it.
struct PendingCall {
  Call call;
  Answer answer;
  std::coroutine_handle<> waiting;  // resumed once `answer` is set; null: the sequence has ended
};

// The awaitable of one call; namespace `call` below makes them.
template <typename C>
class Awaiter {
 public:
  explicit Awaiter(C call) : call_(std::move(call)) {}
  void Use(PendingCall& pending) { pending_ = &pending; }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    pending_->call = std::move(call_);
    pending_->waiting = waiting;
  }
  typename C::Answer await_resume() {
    return std::get<typename C::Answer>(std::move(pending_->answer));
  }

 private:
  C call_;
  PendingCall* pending_ = nullptr;
};

struct Nothing {};  // the end of a sequence that has no result

// A coroutine with the result T. Runs once it is started or awaited by another sequence. Owns its
// frame and may be destroyed while suspended; its reference arguments outlive it.
template <typename T>
class [[nodiscard]] Sequence {
 public:
  class promise_type;
  using Frame = std::coroutine_handle<promise_type>;

  explicit Sequence(Frame frame) : frame_(frame) {}
  Sequence(Sequence&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Sequence& operator=(Sequence&&) = delete;
  ~Sequence() {
    if (frame_) frame_.destroy();
  }

  // Runs to the first call, or to the end.
  void Start(PendingCall& pending) {
    Use(pending);
    frame_.resume();
  }
  // The sequence has ended.
  T result() { return *std::move(frame_.promise().result); }

  void Use(PendingCall& pending) { frame_.promise().pending = &pending; }
  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) {
    frame_.promise().caller = caller;
    return frame_;
  }
  T await_resume() { return result(); }

 private:
  Frame frame_;
};

template <typename T>
class Sequence<T>::promise_type {  // NOLINT(readability-identifier-naming): the language's
 public:
  Sequence get_return_object() { return Sequence(Frame::from_promise(*this)); }
  std::suspend_always initial_suspend() noexcept { return {}; }
  auto final_suspend() noexcept {
    struct Continue {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(Frame frame) noexcept {
        const std::coroutine_handle<> next = frame.promise().caller;
        return next ? next : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    return Continue{};
  }
  void return_value(T value) { result.emplace(std::move(value)); }
  void unhandled_exception() { std::abort(); }  // nothing here throws
  template <typename Awaited>
  Awaited&& await_transform(Awaited&& awaited) {
    awaited.Use(*pending);
    return std::forward<Awaited>(awaited);
  }

  PendingCall* pending = nullptr;
  std::coroutine_handle<> caller;
  std::optional<T> result;
};

// Makes the calls of sequences and owns the network that they open. One thread. `api` outlives it.
class Caller {
 public:
  explicit Caller(Api& api) : api_(api) {}

  template <typename T>
  T Run(Sequence<T> sequence) {
    PendingCall pending;
    sequence.Start(pending);
    while (pending.waiting) {
      pending.answer = Make(pending.call);
      std::exchange(pending.waiting, nullptr).resume();
    }
    return sequence.result();
  }

 private:
  Answer Make(const Call& call);

  Api& api_;
  std::optional<OpenedNetwork> open_;
};

// `Machine` with its sequences run to their end.
template <typename Machine>
class Driven final : public Machine {
 public:
  template <typename... Arguments>
  explicit Driven(Api& api, Arguments&&... arguments)
      : Machine(std::forward<Arguments>(arguments)...), caller_(api) {}
  auto Inspect() { return caller_.Run(Machine::Inspect()); }
  auto Round(TimePoint now) { return caller_.Run(Machine::Round(now)); }
  void ReadSourceVip() { caller_.Run(Machine::ReadSourceVip()); }

 private:
  Caller caller_;
};

// What a sequence awaits. Functions, because GCC 12 may destroy an aggregate inside a co_await
// expression twice. It does the same to the result of `?:`: put that into a variable first.
namespace call {
inline Awaiter<hns::ReadVersion> Version() { return Awaiter(ReadVersion()); }
inline Awaiter<CheckService> IsGone(absl::Status status) {
  return Awaiter(CheckService{std::move(status)});
}
inline Awaiter<ListNetworks> Networks(std::string name = "") {
  return Awaiter(ListNetworks{std::move(name)});
}
inline Awaiter<hns::ReadSchema1> Schema1(Network network) {
  return Awaiter(ReadSchema1{std::move(network)});
}
inline Awaiter<ListEndpoints> Endpoints(const Guid& network,
                                        std::vector<Unread>* unread = nullptr) {
  return Awaiter(ListEndpoints{network, unread});
}
inline Awaiter<OpenNetwork> Open(Network network) {
  return Awaiter(OpenNetwork{std::move(network)});
}
inline Awaiter<CreateNetwork> Create(Network document) {
  return Awaiter(CreateNetwork{std::move(document)});
}
inline Awaiter<CloseNetwork> Close() { return Awaiter(CloseNetwork()); }
inline Awaiter<ReadNetwork> Read() { return Awaiter(ReadNetwork()); }
inline Awaiter<ModifyNetwork> Add(std::vector<Policy> policies) {
  return Awaiter(ModifyNetwork{true, std::move(policies)});
}
inline Awaiter<ModifyNetwork> Remove(std::vector<Policy> policies) {
  return Awaiter(ModifyNetwork{false, std::move(policies)});
}
inline Awaiter<DeleteNetwork> Delete(const Guid& id, std::string name) {
  return Awaiter(DeleteNetwork{id, std::move(name)});
}
inline Awaiter<hns::DeleteEndpoint> DeleteEndpoint(const Guid& id, std::string name) {
  return Awaiter(hns::DeleteEndpoint{id, std::move(name)});
}
inline Awaiter<CallSchema1> Hns(std::string what, std::string method, std::string path,
                                std::string request = "") {
  return Awaiter(
      CallSchema1{std::move(what), std::move(method), std::move(path), std::move(request)});
}
}  // namespace call

}  // namespace weft::hns
