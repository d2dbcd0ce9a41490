// SPDX-License-Identifier: Apache-2.0
#include "control/service/service_verbs.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/command_line.h"

namespace weft::service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kPoll = milliseconds(100);
constexpr auto kStopTime = seconds(30);
constexpr auto kStartTime = seconds(60);
constexpr auto kDeleteTime = seconds(10);

Recovery DesiredRecovery() {
  return {{seconds(5), seconds(10), seconds(60)}, std::chrono::hours(24), true};
}

constexpr std::string_view kStartTypes[] = {"auto", "delayed", "manual", "disabled"};
std::string_view Name(StartType start) { return kStartTypes[static_cast<std::size_t>(start)]; }

constexpr std::string_view kStates[] = {"stopped", "starting", "running", "stopping", "paused"};
std::string_view Name(State state) { return kStates[static_cast<std::size_t>(state)]; }

std::string Text(const std::optional<Recovery>& recovery) {
  if (!recovery || recovery->restarts.empty()) return "none";
  return absl::StrCat("restart after ",
                      absl::StrJoin(recovery->restarts, ", ",
                                    [](std::string* out, seconds each) {
                                      absl::StrAppend(out, each.count(), " s");
                                    }),
                      recovery->on_error_status ? ", also after an exit with an error" : "",
                      "; counted anew after ", recovery->reset.count(), " s");
}

std::string List(const std::vector<std::string>& names) {
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

// Windows ignores the case of paths, and takes both slashes.
bool SamePath(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    const auto plain = [](char c) {
      return c == '/' ? '\\' : absl::ascii_tolower(static_cast<unsigned char>(c));
    };
    return plain(x) == plain(y);
  });
}

absl::Status About(const std::string& name, const absl::Status& status) {
  if (absl::IsNotFound(status))
    return absl::NotFoundError(absl::StrCat(
        "service ", name, " is not installed; install it: flanneld service install FLAG..."));
  if (absl::IsFailedPrecondition(status))
    return absl::FailedPreconditionError(
        absl::StrCat("service ", name,
                     " is marked for deletion: another program has it open; close the Services "
                     "console, Task Manager and their like, then try again"));
  return {status.code(), absl::StrCat("service ", name, ": ", status.message())};
}

// The service, if it runs this program.
absl::StatusOr<Config> ReadOwn(const std::string& name, const VerbContext& context) {
  absl::StatusOr<Config> config = context.manager.Read(name);
  if (!config.ok()) return About(name, config.status());
  const std::vector<std::string> words = context.manager.Words(config->command);
  if (!words.empty() && SamePath(words[0], context.program)) return config;
  return absl::AlreadyExistsError(
      absl::StrCat("service ", name, " belongs to another program: ", config->command, "; this is ",
                   context.program, ". Remove that one first (sc delete ", name,
                   "), or choose another name with --service-name"));
}

// hns, because without it there is nothing to program; containerd, because it uses what flanneld
// writes. One that does not exist would keep SCM from starting ours.
std::vector<std::string> Dependencies(ServiceManager& manager) {
  std::vector<std::string> names;
  for (const char* const name : {"hns", "containerd"})
    if (manager.Exists(name)) names.emplace_back(name);
  return names;
}

std::vector<std::string> Differences(const Config& now, const Config& desired) {
  std::vector<std::string> out;
  const auto compare = [&](std::string_view what, std::string_view a, std::string_view b) {
    if (a != b) out.push_back(absl::StrCat(what, ": ", a, " -> ", b));
  };
  compare("command", now.command, desired.command);
  compare("start", Name(now.start), Name(desired.start));
  compare("depends on", List(now.dependencies), List(desired.dependencies));
  compare("display name", now.display_name, desired.display_name);
  compare("description", now.description, desired.description);
  if (now.recovery) compare("recovery", Text(now.recovery), Text(desired.recovery));
  return out;
}

bool OwnsEventSource(const std::string& name, const VerbContext& context) {
  const std::optional<std::string> program = context.manager.EventSource(name);
  return program && SamePath(*program, context.program);
}

absl::Status InstallEventSource(const std::string& name, VerbContext& context) {
  const std::optional<std::string> program = context.manager.EventSource(name);
  if (program && SamePath(*program, context.program)) return absl::OkStatus();
  if (program) {
    context.out << "the event source " << name << " belongs to " << *program
                << " and stays so: events of this service are shown without their text\n";
    return absl::OkStatus();
  }
  const absl::Status status = context.manager.SetEventSource(name, context.program);
  return status.ok() ? status
                     : absl::Status(status.code(),
                                    absl::StrCat("event source ", name, ": ", status.message()));
}

// Requests its stop until it is stopped. Returns whether it was not before.
absl::StatusOr<bool> StopAndWait(const std::string& name, VerbContext& context) {
  const control::TimePoint end = context.clock.Now() + kStopTime;
  for (bool ran = false;; ran = true) {
    const absl::StatusOr<Status> status = context.manager.Query(name);
    if (!status.ok()) return About(name, status.status());
    if (status->state == State::kStopped) return ran;
    if (!ran) {
      const std::vector<std::string> dependents = context.manager.RunningDependents(name);
      if (!dependents.empty())
        return absl::FailedPreconditionError(absl::StrCat("service ", name, " is needed by ",
                                                          List(dependents), "; stop that first"));
    }
    // Again: a service that starts may not take it yet.
    if (status->state != State::kStopPending) {
      if (const absl::Status stop = context.manager.Stop(name); !stop.ok())
        return About(name, stop);
    }
    if (context.clock.Now() >= end)
      return absl::DeadlineExceededError(absl::StrCat(
          "service ", name, " is still ", Name(status->state), " after ", kStopTime.count(),
          " s; end its process: taskkill /f /pid ", status->process));
    context.sleep(kPoll);
  }
}

// The words after "flanneld service": " start --service-name=x".
std::string Words(std::string_view verb, const std::string& name) {
  return absl::StrCat("flanneld service ", verb,
                      name == Command().name ? "" : absl::StrCat(" --service-name=", name));
}

std::string LastRun(const Status& status) {
  if (status.error == 0) return "";
  return status.error == kServiceSpecific
             ? absl::StrCat("exit status ", status.exit_status)
             : absl::StrCat("error ", status.error, " (net helpmsg ", status.error, ")");
}

std::string WhereToLook(const std::string& name) {
  return absl::StrCat("the reason is in the event log (source ", name,
                      ") and in flanneld.log of --log-dir");
}

}  // namespace

absl::Status CheckOwnService(const std::string& name, const VerbContext& context) {
  return ReadOwn(name, context).status();
}

absl::Status Install(const Command& command, VerbContext& context) {
  Config desired;
  // Always quoted: Windows would run C:\Program.exe for an unquoted C:\Program Files.
  desired.command = absl::StrCat("\"", context.program, "\"", command.arguments.empty() ? "" : " ",
                                 control::QuotedCommandLine(command.arguments));
  desired.start = command.start;
  desired.dependencies = Dependencies(context.manager);
  desired.display_name = absl::StrCat("flanneld (", command.name, ")");
  desired.description =
      "Connects the pods of this Kubernetes node with those of other nodes (weft, in place of "
      "flannel).";
  desired.account = "LocalSystem";
  desired.recovery = DesiredRecovery();

  const absl::StatusOr<Config> existing = ReadOwn(command.name, context);
  const bool exists = !absl::IsNotFound(existing.status());
  if (exists && !existing.ok()) return existing.status();
  const std::vector<std::string> changes =
      exists ? Differences(*existing, desired) : std::vector<std::string>();
  if (!exists) {
    if (const absl::Status status = context.manager.Create(command.name, desired); !status.ok())
      return About(command.name, status);
  }
  std::vector<std::string> missing;
  if (!exists || !changes.empty()) {
    absl::StatusOr<std::vector<std::string>> left = context.manager.Change(command.name, desired);
    if (!left.ok()) return About(command.name, left.status());
    missing = *std::move(left);
  }
  if (const absl::Status status = InstallEventSource(command.name, context); !status.ok())
    return status;

  if (!exists) {
    context.out << "service " << command.name << " installed: " << desired.command << "\n";
  } else if (changes.empty()) {
    context.out << "service " << command.name << " is installed like this already\n";
  } else {
    context.out << "service " << command.name << " changed:\n";
    for (const std::string& change : changes) context.out << "  " << change << "\n";
  }
  for (const std::string& each : missing)
    context.out << "this system's service manager does not keep the " << each << "\n";
  if (std::ranges::count(desired.dependencies, "hns") == 0)
    context.out << "this system has no service hns: enable Windows' feature Containers\n";
  if (exists && existing->account != desired.account)
    context.out << "it runs as " << existing->account << ", not as LocalSystem, and stays so\n";
  const absl::StatusOr<Status> status = context.manager.Query(command.name);
  if (status.ok() && status->state == State::kStopped)
    context.out << "start it: " << Words("start", command.name) << "\n";
  else if (!changes.empty())
    context.out << "it still runs with its former settings; restart it: "
                << Words("stop", command.name) << ", " << Words("start", command.name) << "\n";
  return absl::OkStatus();
}

absl::Status Uninstall(const std::string& name, VerbContext& context) {
  const absl::StatusOr<Config> config = ReadOwn(name, context);
  const bool exists = config.ok();
  if (!exists && !absl::IsNotFound(config.status())) return config.status();
  const bool has_source = OwnsEventSource(name, context);
  if (!exists && !has_source)
    return absl::NotFoundError(absl::StrCat("service ", name, " is not installed"));
  if (exists) {
    const absl::StatusOr<bool> stopped = StopAndWait(name, context);
    if (!stopped.ok()) return stopped.status();
    if (*stopped) context.out << "service " << name << " stopped\n";
    const absl::Status status = context.manager.Delete(name);
    if (!status.ok() && !absl::IsNotFound(status) && !absl::IsFailedPrecondition(status))
      return About(name, status);
  }
  if (has_source) {
    if (const absl::Status status = context.manager.RemoveEventSource(name); !status.ok())
      return {status.code(), absl::StrCat("event source ", name, ": ", status.message())};
  }
  const control::TimePoint end = context.clock.Now() + kDeleteTime;
  while (context.manager.Exists(name)) {
    if (context.clock.Now() >= end) return About(name, absl::FailedPreconditionError(""));
    context.sleep(kPoll);
  }
  context.out << "service " << name
              << " removed; what flanneld made on this node: flannelctl reset\n";
  return absl::OkStatus();
}

absl::Status Start(const std::string& name, VerbContext& context) {
  if (const absl::StatusOr<Config> config = ReadOwn(name, context); !config.ok())
    return config.status();
  absl::StatusOr<Status> status = context.manager.Query(name);
  if (status.ok() && status->state == State::kRunning) {
    context.out << "service " << name << " runs already, process " << status->process << "\n";
    return absl::OkStatus();
  }
  if (!status.ok() || status->state != State::kStartPending) {
    if (const absl::Status start = context.manager.Start(name); !start.ok())
      return About(name, start);
  }
  const control::TimePoint end = context.clock.Now() + kStartTime;
  for (;;) {
    status = context.manager.Query(name);
    if (!status.ok()) return About(name, status.status());
    if (status->state == State::kRunning) break;
    if (status->state == State::kStopped)
      return absl::AbortedError(
          absl::StrCat("service ", name, " ended at once, ",
                       LastRun(*status).empty() ? "without an error" : LastRun(*status), "; ",
                       WhereToLook(name)));
    if (context.clock.Now() >= end)
      return absl::DeadlineExceededError(absl::StrCat(
          "service ", name, " is still ", Name(status->state), " after ", kStartTime.count(),
          " s, process ", status->process, "; ", WhereToLook(name)));
    context.sleep(kPoll);
  }
  context.out << "service " << name << " runs, process " << status->process << "\n";
  return absl::OkStatus();
}

absl::Status Stop(const std::string& name, VerbContext& context) {
  if (const absl::StatusOr<Config> config = ReadOwn(name, context); !config.ok())
    return config.status();
  const absl::StatusOr<bool> stopped = StopAndWait(name, context);
  if (!stopped.ok()) return stopped.status();
  context.out << "service " << name << (*stopped ? " stopped\n" : " was stopped already\n");
  return absl::OkStatus();
}

absl::Status PrintStatus(const std::string& name, VerbContext& context) {
  const absl::StatusOr<Config> config = context.manager.Read(name);
  if (!config.ok()) return About(name, config.status());
  const absl::StatusOr<Status> status = context.manager.Query(name);
  if (!status.ok()) return About(name, status.status());
  const std::string last = LastRun(*status);
  context.out << "service " << name << ": " << Name(status->state);
  if (status->process != 0) context.out << ", process " << status->process;
  if (status->state == State::kStopped && !last.empty())
    context.out << ", last run ended with " << last << "; " << WhereToLook(name);
  context.out << "\n  command:      " << config->command
              << "\n  start:        " << Name(config->start)
              << "\n  account:      " << config->account
              << "\n  depends on:   " << List(config->dependencies)
              << "\n  recovery:     " << Text(config->recovery)
              << "\n  event source: " << context.manager.EventSource(name).value_or("none") << "\n";
  if (status->state == State::kRunning) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("service ", name, " does not run"));
}

}  // namespace weft::service
