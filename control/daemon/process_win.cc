// SPDX-License-Identifier: Apache-2.0
#include <winsock2.h>

#include <windows.h>

#include <malloc.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "control/daemon/process.h"

namespace weft::daemon {
namespace {

// The handler runs on a thread of the system and receives only the event.
std::atomic<StopSignals*> current{nullptr};

std::string_view NameOf(DWORD event) {
  switch (event) {
    case CTRL_C_EVENT:
      return "Ctrl-C";
    case CTRL_BREAK_EVENT:
      return "Ctrl-Break";
    case CTRL_CLOSE_EVENT:
      return "the closing of its console";
    case CTRL_LOGOFF_EVENT:
      return "the user's logging off";
    default:
      return "the shutdown of the system";
  }
}

}  // namespace

std::uint64_t ProcessId() { return ::GetCurrentProcessId(); }

void PrepareProcess() {}

void ReleaseFreeMemory() { (void)::_heapmin(); }

struct StopSignals::Impl {
  boost::asio::io_context& io;
  std::function<void(std::string_view)> stop;
  std::atomic<bool> requested{false};

  static BOOL WINAPI Handle(DWORD event) {
    StopSignals* const signals = current.load();
    if (!signals || signals->impl_->requested.exchange(true))
      return FALSE;  // the default action: the process ends
    boost::asio::post(signals->impl_->io,
                      [impl = signals->impl_.get(), event] { impl->stop(NameOf(event)); });
    // After these events the process ends as soon as this returns: wait for the orderly end, or the
    // system's own deadline.
    if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) ::Sleep(10'000);
    return TRUE;
  }
};

StopSignals::StopSignals(boost::asio::io_context& io, std::function<void(std::string_view)> stop)
    : impl_(new Impl{io, std::move(stop)}) {
  current.store(this);
  ::SetConsoleCtrlHandler(&Impl::Handle, TRUE);
}

StopSignals::~StopSignals() {
  ::SetConsoleCtrlHandler(&Impl::Handle, FALSE);
  current.store(nullptr);
}

}  // namespace weft::daemon
