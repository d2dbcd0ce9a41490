// SPDX-License-Identifier: Apache-2.0
// The commands of `node_stream`, on the streaming list of Nodes. Each prints one JSON object on
// standard output; the return value is the exit code.
#pragma once

#include <cstddef>
#include <string>

namespace weft::bench {

// Suffix of the file with the sizes of a capture's pieces, as the client delivered them, one a
// line.
inline constexpr char kPiecesSuffix[] = ".pieces";

struct DrainOptions {
  std::string kubeconfig;
  std::string capture;  // file for the received bytes; empty: none
};

struct ApplyOptions {
  std::string capture;        // of `drain`
  std::string own;            // name of our own Node
  std::string network;        // net-conf's
  std::size_t events = 1000;  // changes of single leases after the list
};

// Reads the stream until the mark at the end of its initial events, without processing it: the cost
// for any client, TLS included. Prints the object as soon as the mark is received.
int Drain(const DrainOptions& options);

// Passes the same bytes in the same pieces from a file to list-and-watch, codec, lease table and
// reconciler, without TLS; then all leases to a sink that accepts everything, then single changes.
int Apply(const ApplyOptions& options);

}  // namespace weft::bench
