// SPDX-License-Identifier: Apache-2.0
// Datagrams at full speed or at a rate, over many flows, alone or 64 at a time (UDP_SEGMENT), and
// the sink that counts them.
#include <netinet/udp.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>
#include <unordered_set>
#include <vector>

#include "bench/tools/payload.h"
#include "bench/tools/sockets_linux.h"
#include "bench/tools/traffic.h"

namespace weft::bench {
namespace {

constexpr std::size_t kBurst = 64;
constexpr int kReceiveBuffer = 32 << 20;  // of the sink, so that it does not lose datagrams itself

volatile std::sig_atomic_t stop_requested = 0;
void RequestStop(int) { stop_requested = 1; }

// Limits the rate by sleeping when ahead of it.
class Pace {
 public:
  explicit Pace(std::uint64_t per_second) : per_second_(per_second), began_(Seconds()) {}
  void WaitUntilDue(std::uint64_t sent) const {
    if (per_second_ == 0) return;
    const double due = began_ + static_cast<double>(sent) / static_cast<double>(per_second_);
    const double early = due - Seconds();
    if (early > 0) std::this_thread::sleep_for(std::chrono::duration<double>(early));
  }

 private:
  std::uint64_t per_second_;
  double began_;
};

struct SinkState {
  std::uint64_t datagrams = 0, bytes = 0, corrupt = 0, duplicates = 0;
  std::uint64_t late = 0;  // after one that was sent later
  std::uint64_t highest = 0;
  std::vector<bool> seen;
  std::unordered_set<std::uint32_t> source_ports;

  void Record(std::span<const std::byte> datagram, std::uint64_t seed) {
    ++datagrams;
    bytes += datagram.size();
    if (seed == 0) return;
    const Stamp stamp = ReadStamped(datagram, seed);
    if (!stamp.intact || stamp.sequence > (1ULL << 32)) {
      ++corrupt;
      return;
    }
    if (stamp.sequence >= seen.size()) seen.resize(stamp.sequence * 2 + 1024);
    if (seen[stamp.sequence]) ++duplicates;
    if (stamp.sequence < highest) ++late;
    highest = std::max(highest, stamp.sequence);
    seen[stamp.sequence] = true;
  }
};

// The size of the datagrams of an aggregate, or zero.
std::size_t SegmentSize(msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_UDP || c->cmsg_type != UDP_GRO) continue;
    int size;
    std::memcpy(&size, CMSG_DATA(c), sizeof size);
    return static_cast<std::size_t>(size);
  }
  return 0;
}

}  // namespace

int SendUdp(const UdpSendOptions& options) {
  if (options.seed != 0 && options.size < kStampSize) {
    errno = EMSGSIZE;
    Fail("a stamped datagram needs 16 bytes");
  }
  const Endpoint to = ParseEndpoint(options.to, options.port);
  std::vector<Socket> sockets;
  for (std::uint32_t i = 0; i < options.flows; ++i) {
    sockets.emplace_back(to.family(), SOCK_DGRAM);
    if (connect(sockets.back().descriptor(), to.get(), to.length) != 0)
      Fail("connect to " + options.to);
    if (options.gso != 0) {
      sockets.back().SetOption(SOL_UDP, UDP_SEGMENT, static_cast<int>(options.size), "UDP_SEGMENT");
    }
  }

  // Plain: a burst is kBurst messages of one datagram. With GSO: one message of `gso` datagrams.
  const std::size_t in_burst = options.gso != 0 ? options.gso : kBurst;
  std::vector<std::byte> bytes(in_burst * options.size);
  if (options.seed == 0) FillRandom(bytes, options.payload_seed);
  std::array<mmsghdr, kBurst> messages{};
  std::array<iovec, kBurst> vectors{};
  for (std::size_t i = 0; i < kBurst; ++i) {
    messages[i].msg_hdr.msg_iov = &vectors[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }

  const Pace pace(options.rate);
  const double began = Seconds();
  std::uint64_t sent = 0, refused = 0;
  std::size_t flow = 0;
  while (options.count != 0 ? sent < options.count : Seconds() - began < options.seconds) {
    std::size_t burst = in_burst;
    if (options.rate != 0 && options.gso == 0)
      burst = std::min<std::size_t>(burst, options.rate / 2000 + 1);
    if (options.count != 0) burst = std::min<std::size_t>(burst, options.count - sent);
    if (options.seed != 0) {
      for (std::size_t i = 0; i < burst; ++i) {
        WriteStamped({bytes.data() + i * options.size, options.size}, options.seed, sent + i);
      }
    }
    const int descriptor = sockets[flow].descriptor();
    flow = (flow + 1) % sockets.size();
    if (options.gso != 0) {
      if (send(descriptor, bytes.data(), burst * options.size, 0) < 0) {
        ++refused;
        if (errno != ENOBUFS && errno != EAGAIN && errno != ECONNREFUSED) Fail("send");
        continue;
      }
      sent += burst;
    } else {
      for (std::size_t i = 0; i < burst; ++i)
        vectors[i] = {bytes.data() + i * options.size, options.size};
      const int accepted = sendmmsg(descriptor, messages.data(), static_cast<unsigned>(burst), 0);
      if (accepted < 0) {
        ++refused;
        if (errno != ENOBUFS && errno != EAGAIN && errno != ECONNREFUSED) Fail("sendmmsg");
        continue;
      }
      sent += static_cast<std::uint64_t>(accepted);
    }
    pace.WaitUntilDue(sent);
  }
  const double took = Seconds() - began;
  std::printf("{\"datagrams\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"refused\": %" PRIu64
              ", \"payload_seed\": %" PRIu64 ", \"seconds\": %.3f, \"mpps\": %.4f}\n",
              sent, sent * options.size, refused, options.payload_seed, took,
              static_cast<double>(sent) / took * 1e-6);
  return 0;
}

int SinkUdp(const UdpSinkOptions& options) {
  struct sigaction action {};
  action.sa_handler = RequestStop;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);

  Socket socket = BindAny(SOCK_DGRAM, options.port);
  if (options.gro) socket.SetOption(SOL_UDP, UDP_GRO, 1, "UDP_GRO");
  const int desired = kReceiveBuffer;
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_RCVBUFFORCE, &desired, sizeof desired);
  std::puts("ready");
  std::fflush(stdout);

  constexpr std::size_t kMessages = 32, kRoom = 65536;
  const auto bytes = std::make_unique<std::byte[]>(kMessages * kRoom);
  std::array<mmsghdr, kMessages> messages{};
  std::array<iovec, kMessages> vectors{};
  std::array<sockaddr_storage, kMessages> senders{};
  std::array<std::array<char, 64>, kMessages> control{};

  SinkState state;
  double first = 0, last = 0;
  while (stop_requested == 0 && (options.count == 0 || state.datagrams < options.count)) {
    pollfd readable{socket.descriptor(), POLLIN, 0};
    const int timeout_ms = first == 0 ? -1 : static_cast<int>(options.idle_seconds * 1000);
    const int ready = poll(&readable, 1, timeout_ms);
    if (ready == 0) break;
    if (ready < 0) continue;  // a signal: the loop condition sees it
    for (std::size_t i = 0; i < kMessages; ++i) {
      vectors[i] = {bytes.get() + i * kRoom, kRoom};
      messages[i].msg_hdr = {
          &senders[i], sizeof senders[i], &vectors[i], 1, control[i].data(), control[i].size(), 0};
    }
    const int got =
        recvmmsg(socket.descriptor(), messages.data(), kMessages, MSG_DONTWAIT, nullptr);
    if (got <= 0) continue;
    last = Seconds();
    if (first == 0) first = last;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i) {
      state.source_ports.insert(PortOf(senders[i]));
      std::span<const std::byte> rest(bytes.get() + i * kRoom, messages[i].msg_len);
      std::size_t segment = options.gro ? SegmentSize(messages[i].msg_hdr) : 0;
      if (segment == 0) segment = rest.size();
      do {
        const std::size_t size = std::min(segment, rest.size());
        state.Record(rest.first(size), options.seed);
        rest = rest.subspan(size);
      } while (!rest.empty());
    }
  }
  const double took = last > first ? last - first : 1e-9;
  std::printf(
      "{\"datagrams\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"corrupt\": %" PRIu64
      ", \"duplicates\": %" PRIu64 ", \"late\": %" PRIu64
      ", \"source_ports\": %zu, \"seconds\": %.3f, \"mpps\": %.4f, \"gbit_per_second\": %.3f}\n",
      state.datagrams, state.bytes, state.corrupt, state.duplicates, state.late,
      state.source_ports.size(), took, static_cast<double>(state.datagrams) / took * 1e-6,
      static_cast<double>(state.bytes) * 8e-9 / took);
  return state.corrupt == 0 && state.duplicates == 0 ? 0 : 1;
}

}  // namespace weft::bench
