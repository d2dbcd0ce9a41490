// SPDX-License-Identifier: Apache-2.0
// This process: its limits, its memory, the signals that stop it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace boost::asio {
class io_context;
}

namespace weft::daemon {

std::uint64_t ProcessId();
// Call first. Raises the limit of open files to the highest that is allowed, for hundreds of
// sockets. On Linux SIGPIPE and SIGHUP are ignored, and the end of a child is reported even if
// whoever started this process ignored SIGCHLD.
void PrepareProcess();
// Returns freed memory to the system: a start needs far more than normal operation.
void ReleaseFreeMemory();

// Calls `stop` on the io thread once, with the cause ("SIGTERM", "Ctrl-C"), when the process is to
// end. The second request ends it at once. SIGHUP is ignored. `io` outlives this. On Linux
// create it before other threads: they inherit the signal mask. hold_signals_linux.cc blocks the
// signals before it exists.
class StopSignals {
 public:
  StopSignals(boost::asio::io_context& io, std::function<void(std::string_view)> stop);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::daemon
