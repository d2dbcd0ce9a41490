// SPDX-License-Identifier: Apache-2.0
// Windows' service control manager (SCM) and the registered sources of its event log, as far as
// flanneld's service needs them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weft::service {

enum class StartType : std::uint8_t { kAuto, kDelayed, kManual, kOther };
enum class State : std::uint8_t { kStopped, kStartPending, kRunning, kStopPending, kOther };

// What SCM does when the process ends without a stop, or stops with an error: the n-th time in
// `reset` it is started again after restarts[n]; the last applies to all later times.
struct Recovery {
  std::vector<std::chrono::seconds> restarts;
  std::chrono::seconds reset{0};
  bool on_error_status = false;  // also when it reports a stop with an error
  bool operator==(const Recovery&) const = default;
};

// A service as the SCM keeps it.
struct Config {
  std::string command;  // the program, quoted, and its arguments: QuotedCommandLine
  StartType start = StartType::kAuto;
  std::vector<std::string> dependencies;
  std::string display_name, description;
  std::string account;               // as SCM shows it: "LocalSystem"
  std::optional<Recovery> recovery;  // empty: this SCM keeps none
};

struct Status {
  State state = State::kStopped;
  std::uint32_t process = 0;  // zero: none
  std::uint32_t checkpoint = 0;
  // Of the last run: zero, an error of Windows, or, if that is kServiceSpecific, `exit_status`.
  std::uint32_t error = 0;
  std::uint32_t exit_status = 0;
};
inline constexpr std::uint32_t kServiceSpecific = 1066;  // ERROR_SERVICE_SPECIFIC_ERROR

// One thread. Errors: PermissionDenied, not an administrator; NotFound, no such service;
// FailedPrecondition, marked for deletion (only kMarkedForDeletion); others with Windows' text.
class ServiceManager {
 public:
  virtual ~ServiceManager() = default;

  virtual bool Exists(const std::string& name) = 0;
  virtual absl::StatusOr<Config> Read(const std::string& name) = 0;
  virtual absl::StatusOr<Status> Query(const std::string& name) = 0;
  // A service without description and recovery: Change follows.
  virtual absl::Status Create(const std::string& name, const Config& config) = 0;
  // Everything but the account. Returns what this SCM does not keep, by name ("recovery actions").
  virtual absl::StatusOr<std::vector<std::string>> Change(const std::string& name,
                                                          const Config& config) = 0;
  virtual absl::Status Delete(const std::string& name) = 0;
  virtual absl::Status Start(const std::string& name) = 0;
  virtual absl::Status Stop(const std::string& name) = 0;
  // The services that depend on it and are not stopped.
  virtual std::vector<std::string> RunningDependents(const std::string& name) = 0;

  // The program with the texts of the event source `name`; empty: there is no such source.
  virtual std::optional<std::string> EventSource(const std::string& name) = 0;
  virtual absl::Status SetEventSource(const std::string& name, const std::string& program) = 0;
  virtual absl::Status RemoveEventSource(const std::string& name) = 0;

  // The words of a command line; the first is the program.
  virtual std::vector<std::string> Words(const std::string& command) = 0;
};

// On Windows. With `to_change`, PermissionDenied if this process may not change services.
absl::StatusOr<std::unique_ptr<ServiceManager>> OpenServiceManager(bool to_change);

}  // namespace weft::service
