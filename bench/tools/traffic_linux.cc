// SPDX-License-Identifier: Apache-2.0
// traffic udp-send|udp-sink|tcp-send|tcp-sink|clock --OPTION=VALUE...
#include "bench/tools/traffic.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace weft::bench {
namespace {

constexpr const char* kUsage =
    R"(usage: traffic udp-send --to=ADDRESS [--port=N] [--size=OCTETS] [--flows=N] [--gso=DATAGRAMS]
                        [--count=N | --seconds=S] [--rate=DATAGRAMS_A_SECOND] [--seed=N]
       traffic udp-sink [--port=N] [--gro=1] [--seed=N] [--count=N] [--idle=SECONDS]
       traffic tcp-send --to=ADDRESS [--port=N] [--octets=N] [--seed=N]
       traffic tcp-sink [--port=N]
       traffic clock

Prints one JSON object at the end. With --seed the datagrams are stamped and the sink verifies each.
)";

[[noreturn]] void Refuse(const std::string& what) {
  std::fprintf(stderr, "traffic: %s\n%s", what.c_str(), kUsage);
  std::exit(2);
}

// The values of "--name=value" arguments; a name that nobody asked for is refused.
class Arguments {
 public:
  Arguments(int count, char** values) {
    for (int i = 2; i < count; ++i) {
      const std::string_view argument = values[i];
      const std::size_t equals = argument.find('=');
      if (argument.substr(0, 2) != "--" || equals == std::string_view::npos)
        Refuse("not --OPTION=VALUE: " + std::string(argument));
      given_[std::string(argument.substr(2, equals - 2))] = argument.substr(equals + 1);
    }
  }

  void Take(const char* name, std::string& out) {
    if (auto node = given_.extract(name)) out = node.mapped();
  }
  void Take(const char* name, double& out) {
    if (auto node = given_.extract(name)) out = std::strtod(node.mapped().c_str(), nullptr);
  }
  template <typename Integer>
  void Take(const char* name, Integer& out) {
    if (auto node = given_.extract(name))
      out = static_cast<Integer>(std::strtoull(node.mapped().c_str(), nullptr, 0));
  }
  void End() const {
    if (!given_.empty()) Refuse("unknown option --" + given_.begin()->first);
  }

 private:
  std::map<std::string, std::string> given_;
};

int Main(int count, char** values) {
  if (count < 2) Refuse("what to do?");
  const std::string_view verb = values[1];
  Arguments arguments(count, values);
  if (verb == "udp-send") {
    UdpSendOptions options;
    arguments.Take("to", options.to);
    arguments.Take("port", options.port);
    arguments.Take("size", options.size);
    arguments.Take("flows", options.flows);
    arguments.Take("gso", options.gso);
    arguments.Take("count", options.count);
    arguments.Take("seconds", options.seconds);
    arguments.Take("rate", options.rate);
    arguments.Take("seed", options.seed);
    arguments.End();
    return SendUdp(options);
  }
  if (verb == "udp-sink") {
    UdpSinkOptions options;
    arguments.Take("port", options.port);
    arguments.Take("gro", options.gro);
    arguments.Take("seed", options.seed);
    arguments.Take("count", options.count);
    arguments.Take("idle", options.idle_seconds);
    arguments.End();
    return SinkUdp(options);
  }
  if (verb == "tcp-send") {
    TcpSendOptions options;
    arguments.Take("to", options.to);
    arguments.Take("port", options.port);
    arguments.Take("octets", options.octets);
    arguments.Take("seed", options.seed);
    arguments.End();
    return SendTcp(options);
  }
  if (verb == "tcp-sink") {
    TcpSinkOptions options;
    arguments.Take("port", options.port);
    arguments.End();
    return SinkTcp(options);
  }
  if (verb == "clock") {
    arguments.End();
    return MeasureClock();
  }
  Refuse("cannot do '" + std::string(verb) + "'");
}

}  // namespace
}  // namespace weft::bench

int main(int count, char** values) { return weft::bench::Main(count, values); }
