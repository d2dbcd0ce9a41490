// SPDX-License-Identifier: Apache-2.0
// What `node_stream` does with the streaming list of Nodes. Each verb prints one JSON object on
// standard output; the return value is the exit code.
#pragma once

#include <cstddef>
#include <string>

namespace weft::bench {

// The sizes of the pieces in which the client handed over what is in a capture, one a line.
inline constexpr char kPiecesSuffix[] = ".pieces";

struct DrainOptions {
  std::string kubeconfig;
  std::string capture;  // file for the bytes, as they came; empty: none
};

struct ApplyOptions {
  std::string capture;        // of `drain`
  std::string own;            // name of our own Node
  std::string network;        // net-conf's
  std::size_t events = 1000;  // changes of single leases after the list
};

// Reads the stream to the end of its first part and does nothing with it: what any client has to
// pay, TLS included. Prints the object as soon as the mark has come.
int Drain(const DrainOptions& options);

// The same bytes in the same pieces from a file through list-and-watch, codec, lease table and
// reconciler, without TLS; then all of it to a sink that takes everything, then single changes.
int Apply(const ApplyOptions& options);

}  // namespace weft::bench
