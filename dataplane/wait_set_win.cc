// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/wait_set.h"

namespace weft::dataplane {

constexpr DWORD kAfterFailure = 10;  // ms

struct WaitSet::Impl {
  HANDLE wake = nullptr;        // auto-reset event
  std::vector<HANDLE> handles;  // `wake` first
  ~Impl() {
    if (wake != nullptr) CloseHandle(wake);
  }

  bool Wait(std::size_t count, std::chrono::milliseconds timeout) {
    const DWORD milliseconds = timeout.count() < 0 ? INFINITE : static_cast<DWORD>(timeout.count());
    const DWORD result =
        WaitForMultipleObjects(static_cast<DWORD>(count), handles.data(), FALSE, milliseconds);
    // A handle has become invalid. The ports report that when they are read; until then the worker
    // must not spin.
    if (result == WAIT_FAILED) Sleep(std::min<DWORD>(milliseconds, kAfterFailure));
    return result > WAIT_OBJECT_0 && result < WAIT_OBJECT_0 + count;
  }
};

absl::StatusOr<std::unique_ptr<WaitSet>> WaitSet::Make(std::span<const WaitHandle> handles) {
  if (handles.size() + 1 > MAXIMUM_WAIT_OBJECTS) {
    return absl::InvalidArgumentError(
        "the ports have " + std::to_string(handles.size()) +
        " handles to wait for; Windows waits for 63; open fewer sockets");
  }
  auto impl = std::make_unique<Impl>();
  impl->wake = CreateEventW(nullptr, FALSE, FALSE, nullptr);
  if (impl->wake == nullptr) {
    return absl::InternalError("CreateEvent for the packet worker: error " +
                               std::to_string(GetLastError()));
  }
  impl->handles.push_back(impl->wake);
  for (const WaitHandle handle : handles) impl->handles.push_back(std::bit_cast<HANDLE>(handle));
  return std::unique_ptr<WaitSet>(new WaitSet(std::move(impl)));
}

WaitSet::WaitSet(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WaitSet::~WaitSet() = default;

bool WaitSet::Wait(std::chrono::milliseconds timeout) {
  return impl_->Wait(impl_->handles.size(), timeout);
}

void WaitSet::WaitForWake(std::chrono::milliseconds timeout) { impl_->Wait(1, timeout); }

void WaitSet::Wake() { SetEvent(impl_->wake); }

}  // namespace weft::dataplane
