// SPDX-License-Identifier: Apache-2.0
// Requests sent at fixed times, and the program that returns them. A round trip counts from the
// time at which its request was due, not from the time at which it was sent: a stall delays the
// requests behind it, and they count too (coordinated omission).
#include <poll.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <vector>

#include "bench/tools/payload.h"
#include "bench/tools/sockets_linux.h"
#include "bench/tools/traffic.h"

namespace weft::bench {
namespace {

constexpr double kStart = 0.01;  // seconds before the first request is due
constexpr double kGrace = 1;     // seconds to wait for answers after the last request

volatile std::sig_atomic_t stop_requested = 0;
void RequestStop(int) { stop_requested = 1; }

void Wait(int descriptor, double seconds) {
  const auto nanoseconds = static_cast<std::int64_t>(std::max(seconds, 0.0) * 1e9);
  const timespec limit{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  pollfd readable{descriptor, POLLIN, 0};
  ppoll(&readable, 1, &limit, nullptr);
}

class Schedule {
 public:
  Schedule(double rate, std::size_t count)
      : interval_(1 / rate), began_(Seconds() + kStart), latencies_(count, -1.0) {}

  std::size_t size() const { return latencies_.size(); }
  double Due(std::size_t request) const {
    return began_ + static_cast<double>(request) * interval_;
  }
  // The first answer to a request counts.
  void Answered(std::uint64_t request, double now) {
    if (request >= size() || latencies_[request] >= 0) return;
    latencies_[request] = now - Due(request);
    ++answered_;
  }
  bool Complete() const { return answered_ == size(); }

  void Print(double lateness) {
    std::erase_if(latencies_, [](double latency) { return latency < 0; });
    std::sort(latencies_.begin(), latencies_.end());
    std::printf("\"answered\": %zu, \"mean_lateness_us\": %.2f, \"latencies_us\": [", answered_,
                lateness * 1e6);
    const char* separator = "";
    for (const double latency : latencies_) {
      std::printf("%s%.1f", separator, latency * 1e6);
      separator = ", ";
    }
    std::puts("]}");
  }

 private:
  double interval_, began_;
  std::vector<double> latencies_;  // seconds; negative: no answer
  std::size_t answered_ = 0;
};

}  // namespace

int SendRoundTrips(const RoundTripOptions& options) {
  const auto count = static_cast<std::size_t>(options.rate * options.seconds);
  if (options.size < sizeof(std::uint64_t) || count == 0) {
    errno = EINVAL;
    Fail("a request needs --size=8 or more, and --rate * --seconds at least one request");
  }
  prctl(PR_SET_TIMERSLACK, 1UL);  // nanoseconds; the default of 50 us would delay every request
  const Endpoint to = ParseEndpoint(options.to, options.port);
  Socket socket(to.family(), SOCK_DGRAM);
  if (connect(socket.descriptor(), to.get(), to.length) != 0) Fail("connect to " + options.to);

  std::vector<std::byte> request(options.size), answer(options.size);
  FillRandom(request, options.payload_seed);
  Schedule schedule(options.rate, count);
  double lateness = 0;
  std::size_t next = 0;
  while (!schedule.Complete()) {
    double now = Seconds();
    for (; next < count && now >= schedule.Due(next); now = Seconds()) {
      lateness += now - schedule.Due(next);
      const std::uint64_t sequence = next++;
      std::memcpy(request.data(), &sequence, sizeof sequence);
      if (send(socket.descriptor(), request.data(), request.size(), 0) < 0 && errno != ENOBUFS &&
          errno != EAGAIN && errno != ECONNREFUSED) {
        Fail("send");
      }
    }
    const double until = next < count ? schedule.Due(next) : schedule.Due(count) + kGrace;
    if (next == count && now >= until) break;
    Wait(socket.descriptor(), until - now);
    while (recv(socket.descriptor(), answer.data(), answer.size(), MSG_DONTWAIT) >=
           static_cast<ssize_t>(sizeof(std::uint64_t))) {
      std::uint64_t sequence;
      std::memcpy(&sequence, answer.data(), sizeof sequence);
      schedule.Answered(sequence, Seconds());
    }
  }
  std::printf("{\"sent\": %zu, \"payload_seed\": %" PRIu64 ", ", next, options.payload_seed);
  schedule.Print(lateness / static_cast<double>(count));
  return 0;
}

int Echo(const EchoOptions& options) {
  struct sigaction action {};
  action.sa_handler = RequestStop;  // without SA_RESTART: it interrupts recvfrom
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  Socket socket = BindAny(SOCK_DGRAM, options.port);
  std::puts("ready");
  std::fflush(stdout);

  std::vector<std::byte> datagram(65536);
  std::uint64_t echoed = 0;
  while (stop_requested == 0) {
    sockaddr_storage from{};
    socklen_t length = sizeof from;
    const ssize_t got = recvfrom(socket.descriptor(), datagram.data(), datagram.size(), 0,
                                 reinterpret_cast<sockaddr*>(&from), &length);
    if (got < 0) continue;  // a signal: the loop condition sees it
    if (sendto(socket.descriptor(), datagram.data(), static_cast<std::size_t>(got), 0,
               reinterpret_cast<const sockaddr*>(&from), length) == got) {
      ++echoed;
    }
  }
  std::printf("{\"datagrams\": %" PRIu64 "}\n", echoed);
  return 0;
}

}  // namespace weft::bench
