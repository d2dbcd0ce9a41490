// SPDX-License-Identifier: Apache-2.0
// How the system starts and stops this process.
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
// What a daemon with hundreds of sockets wants of its process: the highest limit of open files it
// may have, no death by SIGPIPE.
void PrepareProcess();
// Gives the system back what was freed: a start needs far more memory than what comes after it.
void ReleaseFreeMemory();
// READY=1 to systemd, sd_notify(3), when NOTIFY_SOCKET asks for it; upstream does the same.
void NotifySupervisorReady();

// Calls `stop` on the io thread once, with the name of what asked for it ("SIGTERM", "Ctrl-C"),
// when the process is asked to end. The second request ends it at once. SIGHUP is ignored. `io`
// outlives this. On Linux made before the process has other threads: they inherit the signal mask.
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
