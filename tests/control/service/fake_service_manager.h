// SPDX-License-Identifier: Apache-2.0
// A service control manager in memory.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "control/service/service_manager.h"

namespace weft::service {

class FakeServiceManager final : public ServiceManager {
 public:
  struct Entry {
    Config config;
    Status status;
    std::vector<Status> next{};  // what each Query after a Start or Stop returns, then the last
    bool marked = false;         // for deletion
  };

  // The state of the machine, compared by tests.
  std::map<std::string, Entry> services;
  std::map<std::string, std::string> sources;
  // Behaviour.
  std::vector<Status> after_start = {{.state = State::kRunning, .process = 7}};
  std::vector<Status> after_stop = {{.state = State::kStopped}};
  std::vector<std::string> dependents;
  bool keeps_recovery = true;
  bool held_open = false;  // a deleted service stays, marked for deletion
  int die_at = -1;         // at this change, counted from zero: it is not made, nor any later
  absl::Status failure;    // of every change, if not OK
  absl::Status unread;     // of every Read
  absl::Status unqueried;  // of every Query
  // What happened.
  int changes = 0;
  std::vector<std::string> calls;

  bool Exists(const std::string& name) override { return services.contains(name); }
  absl::StatusOr<Config> Read(const std::string& name) override {
    const auto found = services.find(name);
    if (found == services.end()) return absl::NotFoundError("");
    if (!unread.ok()) return unread;
    Config config = found->second.config;
    if (!keeps_recovery) config.recovery.reset();
    return config;
  }
  absl::StatusOr<Status> Query(const std::string& name) override {
    const auto found = services.find(name);
    if (found == services.end()) return absl::NotFoundError("");
    if (!unqueried.ok()) return unqueried;
    Entry& entry = found->second;
    if (!entry.next.empty()) {
      entry.status = entry.next.front();
      entry.next.erase(entry.next.begin());
    }
    return entry.status;
  }
  absl::Status Create(const std::string& name, const Config& config) override {
    if (absl::Status status = Begin("create " + name); !status.ok()) return status;
    Entry entry;
    entry.config = config;
    entry.config.description.clear();
    entry.config.recovery = Recovery{};
    services.emplace(name, entry);
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<std::string>> Change(const std::string& name,
                                                  const Config& config) override {
    if (absl::Status status = Begin("change " + name); !status.ok()) return status;
    Entry& entry = services.at(name);
    if (entry.marked) return absl::FailedPreconditionError("");
    const std::string account = entry.config.account;
    entry.config = config;
    entry.config.account = account;
    if (keeps_recovery) return std::vector<std::string>();
    return std::vector<std::string>{"recovery actions"};
  }
  absl::Status Delete(const std::string& name) override {
    if (absl::Status status = Begin("delete " + name); !status.ok()) return status;
    if (services.at(name).marked) return absl::FailedPreconditionError("");
    if (held_open)
      services.at(name).marked = true;
    else
      services.erase(name);
    return absl::OkStatus();
  }
  absl::Status Start(const std::string& name) override {
    if (absl::Status status = Begin("start " + name); !status.ok()) return status;
    services.at(name).next = after_start;
    return absl::OkStatus();
  }
  absl::Status Stop(const std::string& name) override {
    if (absl::Status status = Begin("stop " + name); !status.ok()) return status;
    // SCM passes no stop to a service that starts.
    if (services.at(name).status.state == State::kRunning) services.at(name).next = after_stop;
    return absl::OkStatus();
  }
  std::vector<std::string> RunningDependents(const std::string&) override { return dependents; }
  std::optional<std::string> EventSource(const std::string& name) override {
    const auto found = sources.find(name);
    return found == sources.end() ? std::nullopt : std::optional(found->second);
  }
  absl::Status SetEventSource(const std::string& name, const std::string& program) override {
    if (absl::Status status = Begin("source " + name); !status.ok()) return status;
    sources[name] = program;
    return absl::OkStatus();
  }
  absl::Status RemoveEventSource(const std::string& name) override {
    if (absl::Status status = Begin("no source " + name); !status.ok()) return status;
    sources.erase(name);
    return absl::OkStatus();
  }
  // Enough for these tests: quotes around whole words, none inside.
  std::vector<std::string> Words(const std::string& command) override {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < command.size();) {
      const char end = command[at] == '"' ? '"' : ' ';
      if (end == '"') ++at;
      words.push_back(command.substr(at, command.find(end, at) - at));
      at = std::min(command.size(), at + words.back().size() + (end == '"' ? 2 : 1));
    }
    return words;
  }

 private:
  absl::Status Begin(std::string call) {
    if (!failure.ok()) return failure;
    if (die_at >= 0 && changes >= die_at) return absl::AbortedError("killed at " + call);
    ++changes;
    calls.push_back(std::move(call));
    return absl::OkStatus();
  }
};

}  // namespace weft::service
