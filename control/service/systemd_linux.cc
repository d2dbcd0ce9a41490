// SPDX-License-Identifier: Apache-2.0
// systemd's protocol for services, sd_notify(3) and sd_watchdog_enabled(3), without its library.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "control/service/supervisor.h"
#include "vxlan/text/printable.h"

namespace weft::service {
namespace {

constexpr std::size_t kLongestStatus = 200;  // bytes

class Systemd final : public Supervisor {
 public:
  explicit Systemd(const char* path) {
    address_.sun_family = AF_UNIX;
    const std::size_t length = std::strlen(path);
    if (length >= sizeof address_.sun_path) return;
    std::memcpy(address_.sun_path, path, length);
    if (path[0] == '@') address_.sun_path[0] = '\0';  // a name in the abstract namespace
    size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    watchdog_ = WatchdogPeriod();
  }
  ~Systemd() override {
    if (socket_ >= 0) ::close(socket_);
  }
  Systemd(const Systemd&) = delete;
  Systemd& operator=(const Systemd&) = delete;

  void Report(const Health& health, control::TimePoint) override {
    const std::string status = health.ready ? "ready" : absl::StrCat("not ready: ", health.reason);
    const bool first = health.ready && !ready_sent_;
    if (!first && status == status_) return;
    status_ = status;
    if (Send(absl::StrCat(first ? "READY=1\n" : "", Status(status))) && first) ready_sent_ = true;
  }
  void Stopping(std::string_view cause) override {
    if (std::exchange(stopping_, true)) return;
    Send(absl::StrCat("STOPPING=1\n", Status(absl::StrCat("stopping on ", cause))));
  }
  std::optional<control::Duration> watchdog_period() const override { return watchdog_; }
  void Alive() override { Send("WATCHDOG=1"); }

 private:
  // Half of the time after which systemd kills this process.
  static std::optional<control::Duration> WatchdogPeriod() {
    const char* const time = std::getenv("WATCHDOG_USEC");
    const char* const process = std::getenv("WATCHDOG_PID");
    std::uint64_t microseconds = 0;
    std::int64_t pid = 0;
    if (!time || !absl::SimpleAtoi(time, &microseconds) || microseconds == 0) return std::nullopt;
    if (process && (!absl::SimpleAtoi(process, &pid) || pid != ::getpid())) return std::nullopt;
    constexpr std::uint64_t kLeast = 20'000, kMost = 3'600'000'000;
    return std::chrono::microseconds(std::clamp(microseconds, kLeast, kMost) / 2);
  }

  // A line break would begin another assignment.
  static std::string Status(std::string_view text) {
    return absl::StrCat("STATUS=", OneLine(text, kLongestStatus));
  }

  bool Send(std::string_view text) const {
    return ::sendto(socket_, text.data(), text.size(), MSG_NOSIGNAL,
                    reinterpret_cast<const sockaddr*>(&address_), size_) >= 0;
  }

  sockaddr_un address_{};
  socklen_t size_ = 0;
  int socket_ = -1;
  std::optional<control::Duration> watchdog_;
  bool ready_sent_ = false, stopping_ = false;
  std::string status_;
};

}  // namespace

// Never destroyed: the thread that ends a slow process uses it to the last.
int RunSupervised(const std::function<int(Supervisor&)>& serve) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  static Supervisor& supervisor = path ? *new Systemd(path) : *new Supervisor;
  return serve(supervisor);
}

}  // namespace weft::service
