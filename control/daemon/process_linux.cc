// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "control/daemon/process.h"

namespace weft::daemon {

std::uint64_t ProcessId() { return static_cast<std::uint64_t>(::getpid()); }

void PrepareProcess() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
}

void ReleaseFreeMemory() { ::malloc_trim(0); }

// A descriptor, not a handler: no code runs asynchronously, and under the thread sanitizer, which
// defers handlers, a signal that arrives right before the loop blocks is not lost.
struct StopSignals::Impl {
  explicit Impl(boost::asio::io_context& io) : descriptor(io) {
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    descriptor.assign(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Impl() { Unblock(); }
  // Restores the default action: the next signal kills the process.
  void Unblock() const { ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr); }

  sigset_t signals;
  boost::asio::posix::stream_descriptor descriptor;
};

StopSignals::StopSignals(boost::asio::io_context& io, std::function<void(std::string_view)> stop)
    : impl_(new Impl(io)) {
  impl_->descriptor.async_wait(
      boost::asio::posix::stream_descriptor::wait_read,
      [this, stop = std::move(stop)](const boost::system::error_code& error) {
        if (error) return;
        signalfd_siginfo info{};
        (void)!::read(impl_->descriptor.native_handle(), &info, sizeof info);
        impl_->Unblock();
        stop(info.ssi_signo == SIGINT ? "SIGINT" : "SIGTERM");
      });
}

StopSignals::~StopSignals() = default;

}  // namespace weft::daemon
