// SPDX-License-Identifier: Apache-2.0
// Which of several API servers of one cluster is used: a state machine without I/O.
//
// The first one is used until it fails; then the next that can be used, in a circle. A server that
// works stays in use: all serve the same cluster, and a return to an earlier one would need probes
// of a server that may fail again. The caller's back-off determines when the next request is sent.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace weft::kube {

struct ServerState {
  std::string server;  // "https://10.0.0.1:6443 (in-cluster)"
  bool in_use = false;
  std::string text;  // why it is in use, or not; at most kMostWhy bytes of an error
  friend bool operator==(const ServerState&, const ServerState&) = default;
};

// One thread.
class ServerChoice {
 public:
  static constexpr std::size_t kMostWhy = 300;  // bytes

  struct Server {
    std::string name;
    // If set: called before the server is used; returns its name, or why it cannot be used now.
    std::function<absl::StatusOr<std::string>()> open = {};
  };
  // At least one; the first has no `open`.
  explicit ServerChoice(std::vector<Server> servers);

  std::size_t current() const { return current_; }
  const std::string& name(std::size_t server) const { return rows_[server].server.name; }
  std::size_t size() const { return rows_.size(); }
  // The server answered a request.
  void Answered(std::size_t server);
  // It could not be reached, or answered that it cannot serve. True: another one is in use now. A
  // late failure, of a server that is not in use any more, changes nothing.
  bool Failed(std::size_t server, std::string_view why);

  // All, in the given order.
  std::vector<ServerState> States() const;

 private:
  struct Row {
    Server server;
    std::string why;  // the last failure; empty: none since its last answer
  };

  std::vector<Row> rows_;
  std::size_t current_ = 0;
  std::string instead_of_;  // the server that failed before
};

}  // namespace weft::kube
