// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "dataplane/wait_set.h"

namespace weft::dataplane {

struct WaitSet::Impl {
  int wake = -1;               // eventfd
  std::vector<pollfd> polled;  // `wake` first
  ~Impl() { close(wake); }

  int Poll(std::size_t count, std::chrono::milliseconds timeout) {
    const int ready =
        poll(polled.data(), count, static_cast<int>(timeout.count() < 0 ? -1 : timeout.count()));
    if (ready <= 0) return 0;  // EINTR counts as a time-out: the caller polls again
    if (polled[0].revents != 0) {
      std::uint64_t wakes = 0;
      (void)!read(wake, &wakes, sizeof wakes);
      return ready - 1;
    }
    return ready;
  }
};

absl::StatusOr<std::unique_ptr<WaitSet>> WaitSet::Make(std::span<const WaitHandle> handles) {
  auto impl = std::make_unique<Impl>();
  impl->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (impl->wake < 0)
    return absl::ErrnoToStatus(errno,
                               "eventfd for the packet worker; raise the limit of open files");
  impl->polled.push_back({impl->wake, POLLIN, 0});
  for (const WaitHandle handle : handles)
    impl->polled.push_back({static_cast<int>(handle), POLLIN, 0});
  return std::unique_ptr<WaitSet>(new WaitSet(std::move(impl)));
}

WaitSet::WaitSet(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WaitSet::~WaitSet() = default;

bool WaitSet::Wait(std::chrono::milliseconds timeout) {
  return impl_->Poll(impl_->polled.size(), timeout) > 0;
}

void WaitSet::WaitForWake(std::chrono::milliseconds timeout) { impl_->Poll(1, timeout); }

void WaitSet::Wake() {
  const std::uint64_t one = 1;
  (void)!write(impl_->wake, &one, sizeof one);  // fails only if a wake is already pending
}

}  // namespace weft::dataplane
