// SPDX-License-Identifier: Apache-2.0
// Stop signals wait for StopSignals (process.h) from the first instructions of the program on: the
// constructors of its objects take milliseconds, and by default a signal would kill it there.
#include <signal.h>

namespace {

[[gnu::constructor(101)]] void HoldStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace
