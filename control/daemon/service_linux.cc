// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "control/daemon/service.h"

namespace weft::daemon {

std::vector<std::string> Arguments(int argc, char** argv) {
  return {argv + (argc > 0 ? 1 : 0), argv + argc};
}

std::string_view DefaultDataplane() { return "userspace"; }

std::uint64_t ProcessId() { return static_cast<std::uint64_t>(::getpid()); }

void PrepareProcess() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
}

struct StopSignals::Impl {
  boost::asio::signal_set signals;
};

StopSignals::StopSignals(boost::asio::io_context& io, std::function<void(std::string_view)> stop)
    : impl_(new Impl{boost::asio::signal_set(io, SIGINT, SIGTERM)}) {
  impl_->signals.async_wait(
      [this, stop = std::move(stop)](const boost::system::error_code& error, int number) {
        if (error) return;
        boost::system::error_code ignored;
        impl_->signals.clear(ignored);  // back to the system's own way: the next one kills
        stop(number == SIGINT ? "SIGINT" : "SIGTERM");
      });
}

StopSignals::~StopSignals() = default;

}  // namespace weft::daemon
