// SPDX-License-Identifier: Apache-2.0
// traffic udp-send|udp-sink|tcp-send|tcp-sink|round-trip|echo|clock --OPTION=VALUE...
#include "bench/tools/traffic.h"

#include <string>

#include "bench/tools/arguments.h"

namespace weft::bench {
namespace {

constexpr const char* kUsage =
    R"(usage: traffic udp-send --to=ADDRESS [--port=N] [--size=BYTES] [--flows=N] [--gso=DATAGRAMS]
                        [--count=N | --seconds=S] [--rate=DATAGRAMS_A_SECOND]
                        [--seed=N | --payload-seed=N]
       traffic udp-sink [--port=N] [--gro=1] [--seed=N] [--count=N] [--idle=SECONDS]
       traffic tcp-send --to=ADDRESS [--port=N] [--bytes=N] [--seed=N]
       traffic tcp-sink [--port=N]
       traffic round-trip --to=ADDRESS [--port=N] [--size=BYTES] [--rate=REQUESTS_A_SECOND]
                          [--seconds=S] [--payload-seed=N]
       traffic echo [--port=N]
       traffic clock

Prints one JSON object at the end. With --seed the datagrams are stamped and the sink verifies each;
without, their bytes are random, from --payload-seed.
)";

int Main(int count, char** values) {
  Arguments arguments(count, values, kUsage);
  const std::string& verb = arguments.verb();
  if (verb == "udp-send") {
    UdpSendOptions options;
    arguments.Read("to", options.to);
    arguments.Read("port", options.port);
    arguments.Read("size", options.size);
    arguments.Read("flows", options.flows);
    arguments.Read("gso", options.gso);
    arguments.Read("count", options.count);
    arguments.Read("seconds", options.seconds);
    arguments.Read("rate", options.rate);
    arguments.Read("seed", options.seed);
    arguments.Read("payload-seed", options.payload_seed);
    arguments.End();
    return SendUdp(options);
  }
  if (verb == "udp-sink") {
    UdpSinkOptions options;
    arguments.Read("port", options.port);
    arguments.Read("gro", options.gro);
    arguments.Read("seed", options.seed);
    arguments.Read("count", options.count);
    arguments.Read("idle", options.idle_seconds);
    arguments.End();
    return SinkUdp(options);
  }
  if (verb == "tcp-send") {
    TcpSendOptions options;
    arguments.Read("to", options.to);
    arguments.Read("port", options.port);
    arguments.Read("bytes", options.bytes);
    arguments.Read("seed", options.seed);
    arguments.End();
    return SendTcp(options);
  }
  if (verb == "tcp-sink") {
    TcpSinkOptions options;
    arguments.Read("port", options.port);
    arguments.End();
    return SinkTcp(options);
  }
  if (verb == "round-trip") {
    RoundTripOptions options;
    arguments.Read("to", options.to);
    arguments.Read("port", options.port);
    arguments.Read("size", options.size);
    arguments.Read("rate", options.rate);
    arguments.Read("seconds", options.seconds);
    arguments.Read("payload-seed", options.payload_seed);
    arguments.End();
    return SendRoundTrips(options);
  }
  if (verb == "echo") {
    EchoOptions options;
    arguments.Read("port", options.port);
    arguments.End();
    return Echo(options);
  }
  if (verb == "clock") {
    arguments.End();
    return MeasureClock();
  }
  arguments.Refuse("unknown command '" + verb + "'");
}

}  // namespace
}  // namespace weft::bench

int main(int count, char** values) { return weft::bench::Main(count, values); }
