// SPDX-License-Identifier: Apache-2.0
// The commands of `traffic`. Each prints one JSON object on standard output when it ends; the sinks
// print "ready" once they are bound. The return value is the exit code.
#pragma once

#include <cstdint>
#include <string>

namespace weft::bench {

struct UdpSendOptions {
  std::string to;
  std::uint16_t port = 9999;
  std::uint32_t size = 18;  // payload bytes of a datagram
  std::uint32_t flows = 1;  // sockets, each with its own source port
  std::uint32_t gso = 0;    // datagrams in one UDP_SEGMENT send; 0: plain sendmmsg
  std::uint64_t count = 0;  // datagrams in total; 0: by time
  double seconds = 2;
  // Datagrams a second on a fixed schedule, in bursts of half a millisecond; a sender that falls
  // behind sends at full speed until it has caught up. 0: no limit.
  std::uint64_t rate = 0;
  std::uint64_t seed = 0;          // not zero: stamped datagrams that the sink verifies
  std::uint64_t payload_seed = 1;  // of the random bytes of datagrams without stamps
};

struct UdpSinkOptions {
  std::uint16_t port = 9999;
  bool gro = false;         // receive aggregates (UDP_GRO)
  std::uint64_t seed = 0;   // not zero: every datagram must carry the sender's stamp
  std::uint64_t count = 0;  // end after this many datagrams
  double idle_seconds = 1;  // or this long after the last one
};

struct TcpSendOptions {
  std::string to;
  std::uint16_t port = 9998;
  std::uint64_t bytes = 1 << 20;
  std::uint64_t seed = 1;
};

struct TcpSinkOptions {
  std::uint16_t port = 9998;
};

struct RoundTripOptions {
  std::string to;
  std::uint16_t port = 9997;
  std::uint32_t size = 64;  // payload bytes of a request
  double rate = 1000;       // requests a second, at fixed times
  double seconds = 2;
  std::uint64_t payload_seed = 1;
};

struct EchoOptions {
  std::uint16_t port = 9997;
};

// Measures the processor's present clock rate, which in a virtual machine depends on the host.
// Prints {"ghz": N}.
int MeasureClock();
int SendUdp(const UdpSendOptions& options);
int SinkUdp(const UdpSinkOptions& options);
int SendTcp(const TcpSendOptions& options);
int SinkTcp(const TcpSinkOptions& options);
// Prints every round trip in microseconds, from the time at which its request was due.
int SendRoundTrips(const RoundTripOptions& options);
// Returns every datagram to its sender, until SIGINT or SIGTERM.
int Echo(const EchoOptions& options);

}  // namespace weft::bench
