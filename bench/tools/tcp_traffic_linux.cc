// SPDX-License-Identifier: Apache-2.0
// One TCP connection that carries bytes generated from a seed. Both ends hash them, and the sink
// returns its digest.
#include <cinttypes>
#include <cstdio>
#include <vector>

#include "bench/tools/payload.h"
#include "bench/tools/sockets_linux.h"
#include "bench/tools/traffic.h"

namespace weft::bench {
namespace {

constexpr std::size_t kChunk = 256 * 1024;

// Derives a new chunk from the last one: every word changes, so that a duplicated or reordered
// chunk is detected.
void Advance(std::vector<std::byte>& chunk, std::uint64_t step) {
  const std::uint64_t salt = Mix(step);
  for (std::size_t i = 0; i < chunk.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, chunk.data() + i, 8);
    word = word * 0x9E3779B97F4A7C15ULL + salt;
    std::memcpy(chunk.data() + i, &word, 8);
  }
}

}  // namespace

int SendTcp(const TcpSendOptions& options) {
  const Endpoint to = ParseEndpoint(options.to, options.port);
  Socket socket(to.family(), SOCK_STREAM);
  if (connect(socket.descriptor(), to.get(), to.length) != 0) Fail("connect to " + options.to);

  std::vector<std::byte> chunk(kChunk);
  for (std::size_t i = 0; i < chunk.size(); i += 8) {
    const std::uint64_t word = Mix(options.seed + i);
    std::memcpy(chunk.data() + i, &word, 8);
  }
  Digest digest;
  const double began = Seconds();
  std::uint64_t left = options.bytes;
  for (std::uint64_t step = options.seed; left > 0; ++step) {
    Advance(chunk, step);
    std::span<const std::byte> rest(chunk.data(),
                                    left < kChunk ? static_cast<std::size_t>(left) : kChunk);
    digest.Add(rest);
    left -= rest.size();
    while (!rest.empty()) {
      const ssize_t sent = send(socket.descriptor(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0) Fail("send");
      rest = rest.subspan(static_cast<std::size_t>(sent));
    }
  }
  shutdown(socket.descriptor(), SHUT_WR);
  std::uint64_t received = 0;
  if (recv(socket.descriptor(), &received, sizeof received, MSG_WAITALL) !=
      static_cast<ssize_t>(sizeof received)) {
    Fail("the sink's digest");
  }
  const double took = Seconds() - began;
  const bool same = received == digest.Value();
  std::printf("{\"bytes\": %" PRIu64
              ", \"seconds\": %.3f, \"gbit_per_second\": %.3f, \"digest\": \"%016" PRIx64
              "\", \"intact\": %s}\n",
              options.bytes, took, static_cast<double>(options.bytes) * 8e-9 / took, digest.Value(),
              same ? "true" : "false");
  return same ? 0 : 1;
}

int SinkTcp(const TcpSinkOptions& options) {
  Socket listener = BindAny(SOCK_STREAM, options.port);
  if (listen(listener.descriptor(), 1) != 0) Fail("listen");
  std::puts("ready");
  std::fflush(stdout);
  Socket socket(accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.descriptor() < 0) Fail("accept");

  std::vector<std::byte> chunk(kChunk);
  Digest digest;
  std::uint64_t bytes = 0;
  while (true) {
    const ssize_t got = recv(socket.descriptor(), chunk.data(), chunk.size(), 0);
    if (got < 0) Fail("recv");
    if (got == 0) break;
    digest.Add({chunk.data(), static_cast<std::size_t>(got)});
    bytes += static_cast<std::uint64_t>(got);
  }
  const std::uint64_t value = digest.Value();
  if (send(socket.descriptor(), &value, sizeof value, MSG_NOSIGNAL) < 0) Fail("answer");
  std::printf("{\"bytes\": %" PRIu64 ", \"digest\": \"%016" PRIx64 "\"}\n", bytes, value);
  return 0;
}

}  // namespace weft::bench
