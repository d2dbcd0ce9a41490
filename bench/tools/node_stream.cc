// SPDX-License-Identifier: Apache-2.0
// node_stream drain|apply --OPTION=VALUE...
#include "bench/tools/node_stream.h"

#include "bench/tools/arguments.h"

namespace weft::bench {
namespace {

constexpr const char* kUsage =
    R"(usage: node_stream drain --kubeconfig=FILE [--capture=FILE]
       node_stream apply --capture=FILE --own=NODE --network=PREFIX [--events=N]

drain reads the streaming list of Nodes from an API server up to its mark and only counts it; apply
takes what it captured through codec and lease table. Each prints one JSON object.
)";

int Main(int count, char** values) {
  Arguments arguments(count, values, kUsage);
  if (arguments.verb() == "drain") {
    DrainOptions options;
    arguments.Read("kubeconfig", options.kubeconfig);
    arguments.Read("capture", options.capture);
    arguments.End();
    return Drain(options);
  }
  if (arguments.verb() == "apply") {
    ApplyOptions options;
    arguments.Read("capture", options.capture);
    arguments.Read("own", options.own);
    arguments.Read("network", options.network);
    arguments.Read("events", options.events);
    arguments.End();
    return Apply(options);
  }
  arguments.Refuse("unknown command '" + arguments.verb() + "'");
}

}  // namespace
}  // namespace weft::bench

int main(int count, char** values) { return weft::bench::Main(count, values); }
