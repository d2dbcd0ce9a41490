// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/server_choice.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::kube {
namespace {

// Cut between two characters of UTF-8.
std::string Bounded(std::string_view text) {
  if (text.size() <= ServerChoice::kMostWhy) return std::string(text);
  std::size_t end = ServerChoice::kMostWhy;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(text.substr(0, end), "...");
}

}  // namespace

ServerChoice::ServerChoice(std::vector<Server> servers) {
  for (Server& each : servers) rows_.push_back({std::move(each), {}});
}

void ServerChoice::Answered(std::size_t server) { rows_[server].why.clear(); }

bool ServerChoice::Failed(std::size_t server, std::string_view why) {
  rows_[server].why = Bounded(why);
  if (server != current_) return false;
  for (std::size_t step = 1; step < rows_.size(); ++step) {
    const std::size_t next = (server + step) % rows_.size();
    Row& row = rows_[next];
    if (row.server.open) {
      absl::StatusOr<std::string> opened = row.server.open();
      if (!opened.ok()) {
        row.why = Bounded(opened.status().message());
        continue;
      }
      row.server.name = *std::move(opened);
    }
    instead_of_ = rows_[server].server.name;
    current_ = next;
    return true;
  }
  return false;
}

std::vector<ServerState> ServerChoice::States() const {
  std::vector<ServerState> states;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    ServerState state{row.server.name, i == current_, {}};
    if (state.in_use) {
      state.text =
          instead_of_.empty() ? "in use" : absl::StrCat("in use, taken over from ", instead_of_);
      if (!row.why.empty()) absl::StrAppend(&state.text, "; it fails: ", row.why);
    } else {
      state.text = row.why.empty() ? "not in use" : absl::StrCat("failed: ", row.why);
    }
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace weft::kube
