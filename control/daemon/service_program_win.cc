// SPDX-License-Identifier: Apache-2.0
#include <winsock2.h>

#include <windows.h>

#include <chrono>
#include <cstdio>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "control/command_line.h"
#include "control/daemon/service_program.h"
#include "control/own_files.h"
#include "control/service/service_arguments.h"
#include "control/service/service_command.h"
#include "control/service/service_verbs.h"
#include "vxlan/text/utf16_win.h"

namespace weft::daemon {
namespace {

constexpr int kDone = 0, kFailed = 1, kWrongWords = 2;

std::string OwnPath() {
  std::wstring path(32 * 1024, L'\0');
  path.resize(::GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size())));
  return Utf8(path);
}

int Fail(const absl::Status& status, int exit_status) {
  std::fprintf(stderr, "flanneld: %s\n", std::string(status.message()).c_str());
  return exit_status;
}

absl::Status Run(const service::Command& command, service::VerbContext& context) {
  using service::Verb;
  switch (command.verb) {
    case Verb::kInstall:
      return service::Install(command, context);
    case Verb::kUninstall:
      return service::Uninstall(command.name, context);
    case Verb::kStart:
      return service::Start(command.name, context);
    case Verb::kStop:
      return service::Stop(command.name, context);
    case Verb::kStatus:
      return service::PrintStatus(command.name, context);
    case Verb::kHelp:
      break;
  }
  return absl::OkStatus();
}

}  // namespace

int RunServiceCommand(std::span<const std::string> words) {
  absl::StatusOr<service::Command> command = service::ParseCommand(words);
  if (!command.ok())
    return Fail(absl::InvalidArgumentError(absl::StrCat("service: ", command.status().message(),
                                                        "; see flanneld service --help")),
                kWrongWords);
  if (command->verb == service::Verb::kHelp) {
    std::fputs(service::CommandUsage().c_str(), stdout);
    return kDone;
  }
  const std::string program = OwnPath();
  if (command->verb == service::Verb::kInstall) {
    auto arguments = service::ServiceArguments(command->arguments, control::Variable);
    if (!arguments.ok()) return Fail(arguments.status(), kWrongWords);
    command->arguments = *std::move(arguments);
    if (const absl::Status own = control::CheckOwn(program); !own.ok())
      std::fprintf(stderr,
                   "flanneld: %s: whoever can write it gets the rights of the service; let only "
                   "Administrators own and write it\n",
                   std::string(own.message()).c_str());
  }
  absl::StatusOr<std::unique_ptr<service::ServiceManager>> manager =
      service::OpenServiceManager(/*to_change=*/command->verb != service::Verb::kStatus);
  if (!manager.ok()) return Fail(manager.status(), kFailed);
  std::ostringstream out;
  const control::SystemClock clock;
  service::VerbContext context{**manager, program, out, clock,
                               [](control::Duration time) { std::this_thread::sleep_for(time); }};
  const absl::Status status = Run(*command, context);
  std::fputs(out.str().c_str(), stdout);
  std::fflush(stdout);
  return status.ok() ? kDone : Fail(status, kFailed);
}

}  // namespace weft::daemon
