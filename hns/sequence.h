// SPDX-License-Identifier: Apache-2.0
// The order of HNS calls, decided without making one. A Sequence is a coroutine that stops at each
// call and continues with the answer: Caller makes the calls, a test answers them by hand.
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

// The calls, as Client documents them. Open, created, read and modified is one network at a time:
// another OpenNetwork or CreateNetwork closes the one before.
struct ReadVersion {
  using Answer = absl::StatusOr<Version>;
};
// Whether `status`, the answer of an earlier call, says that the service is not there.
struct CheckService {
  using Answer = bool;
  absl::Status status;
};
struct ListNetworks {
  using Answer = absl::StatusOr<std::vector<Network>>;
  std::string name;  // empty: all
};
// `network` with what schema 1 shows beyond it; as it is where that cannot be read.
struct ReadSchema1 {
  using Answer = Network;
  Network network;
};
struct ListEndpoints {
  using Answer = absl::StatusOr<std::vector<Endpoint>>;
  Guid network;
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
// HNSCall, schema 1; answers with its output. `what` is for messages: "list the networks".
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

// Where a sequence and whoever steps it meet.
struct PendingCall {
  Call call;
  Answer answer;
  std::coroutine_handle<> waiting;  // for `answer`; null: the sequence has ended
};

// `co_await` one of these; see `ask` below.
template <typename C>
class Ask {
 public:
  explicit Ask(C call) : call_(std::move(call)) {}
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

// Ends with a T. Begins when it is started or awaited by another sequence. Owns its frame, which
// may be dropped at any call; its arguments outlive it.
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
  // Of one that has ended.
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

// Makes the calls of sequences and holds the network that they open. One thread. `api` outlives it.
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

// A machine that decides, with the calls made.
template <typename Machine>
class Driven final : public Machine {
 public:
  template <typename... Arguments>
  explicit Driven(Api& api, Arguments&&... arguments)
      : Machine(std::forward<Arguments>(arguments)...), caller_(api) {}
  auto Inspect() { return caller_.Run(Machine::Inspect()); }
  auto Round(TimePoint now) { return caller_.Run(Machine::Round(now)); }

 private:
  Caller caller_;
};

// What a sequence awaits. Functions, because GCC 12 may destroy twice what stands within a co_await
// as an aggregate; likewise the result of `?:`, which is named before.
namespace ask {
inline Ask<hns::ReadVersion> Version() { return Ask(ReadVersion()); }
inline Ask<CheckService> IsGone(absl::Status status) {
  return Ask(CheckService{std::move(status)});
}
inline Ask<ListNetworks> Networks(std::string name = "") {
  return Ask(ListNetworks{std::move(name)});
}
inline Ask<hns::ReadSchema1> Schema1(Network network) {
  return Ask(ReadSchema1{std::move(network)});
}
inline Ask<ListEndpoints> Endpoints(const Guid& network) { return Ask(ListEndpoints{network}); }
inline Ask<OpenNetwork> Open(Network network) { return Ask(OpenNetwork{std::move(network)}); }
inline Ask<CreateNetwork> Create(Network document) {
  return Ask(CreateNetwork{std::move(document)});
}
inline Ask<CloseNetwork> Close() { return Ask(CloseNetwork()); }
inline Ask<ReadNetwork> Read() { return Ask(ReadNetwork()); }
inline Ask<ModifyNetwork> Add(std::vector<Policy> policies) {
  return Ask(ModifyNetwork{true, std::move(policies)});
}
inline Ask<ModifyNetwork> Remove(std::vector<Policy> policies) {
  return Ask(ModifyNetwork{false, std::move(policies)});
}
inline Ask<DeleteNetwork> Delete(const Guid& id, std::string name) {
  return Ask(DeleteNetwork{id, std::move(name)});
}
inline Ask<hns::DeleteEndpoint> DeleteEndpoint(const Guid& id, std::string name) {
  return Ask(hns::DeleteEndpoint{id, std::move(name)});
}
inline Ask<CallSchema1> Hns(std::string what, std::string method, std::string path,
                            std::string request = "") {
  return Ask(CallSchema1{std::move(what), std::move(method), std::move(path), std::move(request)});
}
}  // namespace ask

}  // namespace weft::hns
