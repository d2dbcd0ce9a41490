// SPDX-License-Identifier: Apache-2.0
// Any answers at any times to the list-and-watch machine: it meets the invariants of its actions
// and of a SourceListener, and text for people is one bounded line.
//
// The input is a script: one byte selects an event, and its arguments follow.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include "control/kube/list_watch.h"
#include "tests/support/manual_clock.h"

namespace {

using weft::kube::Read;
using weft::kube::Send;
using weft::kube::Wait;

void Require(bool promise) {
  if (!promise) std::abort();
}

class Script {
 public:
  Script(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}
  bool empty() const { return rest_.empty(); }
  std::uint8_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  std::string_view ByteVector(std::size_t most) {
    const std::string_view bytes = rest_.substr(0, most);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }

 private:
  std::string_view rest_;
};

class StrictListener final : public weft::lease::SourceListener {
 public:
  void OnSnapshotBegin() override { in_snapshot_ = true; }
  void OnSnapshotEnd() override {
    Require(in_snapshot_);
    in_snapshot_ = false;
    synced_ = true;
  }
  void OnUpsert(const weft::lease::Lease& lease) override {
    Require(!lease.node.name.empty() && (in_snapshot_ || synced_));
  }
  void OnDelete(const weft::lease::NodeKey& node) override {
    Require(!node.name.empty() && (in_snapshot_ || synced_));
  }
  void OnRefused(const weft::lease::RefusedNode& node) override {
    Require(!node.name.empty() && !node.reason.empty() && (in_snapshot_ || synced_));
  }
  void OnCondition(const absl::Status& status) override {
    Require(status != condition_);  // only what is new
    condition_ = status;
    Require(status.ok() || (!status.message().empty() && status.message().size() < 2000));
    for (const char c : status.message()) Require(c >= ' ' && c < '\x7f');
  }

 private:
  bool in_snapshot_ = false;
  bool synced_ = false;
  absl::Status condition_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr const char* kTypes[] = {
      "application/json", "application/vnd.kubernetes.protobuf",
      "application/vnd.kubernetes.protobuf;stream=watch", "text/plain"};
  static constexpr int kCodes[] = {200, 200, 200, 200, 400, 401, 403, 404, 406,
                                   410, 413, 415, 422, 429, 500, 501, 503, 504};
  Script script(data, size);
  weft::testing::ManualClock clock;
  StrictListener listener;
  const auto random = [&script] { return script.Byte() / 256.0; };
  weft::kube::ListWatch machine(clock, random, weft::kube::AnnotationKeys(), "us", listener);
  weft::kube::Action action = machine.Start();
  bool answered = false;  // the exchange that runs
  while (!script.empty()) {
    const bool waits = std::holds_alternative<Wait>(action);
    if (const auto* send = std::get_if<Send>(&action)) {
      Require(send->request.target.starts_with("/api/v1/nodes") && send->deadline > clock.Now());
      answered = false;
    }
    const std::uint8_t what = waits ? 0xff : script.Byte();
    if (what == 0xff) {  // the time comes
      auto until = clock.Now();
      std::visit(
          [&until](const auto& of) {
            if constexpr (requires { of.until; }) {
              until = of.until;
            } else {
              until = of.deadline;
            }
          },
          action);
      clock.AdvanceTo(std::max(clock.Now(), until));
      action = machine.OnTime();
    } else if (what >= 0xf0) {  // some time passes
      clock.Advance(std::chrono::milliseconds(100) * (1 << (what & 0xf)));
      action = machine.OnTime();
    } else if (what >= 0xe0) {
      action = machine.OnEnd(what & 1 ? absl::OkStatus() : absl::UnavailableError("reset"));
    } else if (!answered) {
      answered = true;
      weft::kube::HttpHead head;
      head.status = kCodes[what % std::size(kCodes)];
      head.content_type = kTypes[script.Byte() % std::size(kTypes)];
      if (what >= 0x80) head.retry_after = std::chrono::seconds(script.Byte()) * 1000;
      action = machine.OnHead(head);
    } else {
      action = machine.OnBody(script.ByteVector(what));
    }
  }
  return 0;
}
