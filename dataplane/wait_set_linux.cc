// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "absl/status/status.h"
#include "dataplane/file_descriptor_linux.h"
#include "dataplane/wait_set.h"

namespace weft::dataplane {

struct WaitSet::Impl {
  FileDescriptor epoll;
  FileDescriptor wake;  // eventfd

  absl::Status Add(int handle) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = handle;
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, handle, &event) == 0) return absl::OkStatus();
    return absl::ErrnoToStatus(errno,
                               "epoll_ctl for the packet worker; raise fs.epoll.max_user_watches");
  }

  void TakeWake() {
    std::uint64_t wakes = 0;
    (void)!::read(wake.get(), &wakes, sizeof wakes);
  }
};

absl::StatusOr<std::unique_ptr<WaitSet>> WaitSet::Make(std::span<const WaitHandle> handles) {
  auto impl = std::make_unique<Impl>();
  impl->epoll = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  impl->wake = FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!impl->epoll.valid() || !impl->wake.valid())
    return absl::ErrnoToStatus(
        errno, "epoll_create1 and eventfd for the packet worker; raise the limit of open files");
  absl::Status status = impl->Add(impl->wake.get());
  for (const WaitHandle handle : handles)
    if (status.ok()) status = impl->Add(static_cast<int>(handle));
  if (!status.ok()) return status;
  return std::unique_ptr<WaitSet>(new WaitSet(std::move(impl)));
}

WaitSet::WaitSet(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WaitSet::~WaitSet() = default;

bool WaitSet::Wait(std::chrono::milliseconds timeout) {
  std::array<epoll_event, 8> events;
  // EINTR counts as a time-out: the caller waits again.
  const int ready = ::epoll_wait(impl_->epoll.get(), events.data(), static_cast<int>(events.size()),
                                 timeout.count() < 0 ? -1 : static_cast<int>(timeout.count()));
  bool handle_ready = false;
  for (int i = 0; i < ready; ++i) {
    if (events[static_cast<std::size_t>(i)].data.fd == impl_->wake.get())
      impl_->TakeWake();
    else
      handle_ready = true;
  }
  return handle_ready;
}

void WaitSet::WaitForWake(std::chrono::milliseconds timeout) {
  pollfd wake = {impl_->wake.get(), POLLIN, 0};
  if (::poll(&wake, 1, timeout.count() < 0 ? -1 : static_cast<int>(timeout.count())) > 0)
    impl_->TakeWake();
}

void WaitSet::Wake() {
  const std::uint64_t one = 1;
  (void)!::write(impl_->wake.get(), &one, sizeof one);  // fails only if a wake is already pending
}

}  // namespace weft::dataplane
