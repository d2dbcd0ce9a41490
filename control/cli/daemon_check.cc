// SPDX-License-Identifier: Apache-2.0
#include "control/cli/daemon_check.h"

#include "absl/strings/str_cat.h"
#include "control/admin/admin_client.h"
#include "control/cli/parser.h"
#include "control/file_io.h"
#include "control/ledger/ledger.h"
#include "control/process_lock.h"

namespace weft::cli {

absl::Status DaemonRuns(std::string_view how, std::string_view undoes) {
  return absl::FailedPreconditionError(
      absl::StrCat("flanneld runs (", how, ") and would ", undoes,
                   ": stop it first (its service, pod or process), then run this again"));
}

absl::Status RefuseDaemonOf(const std::string& node_name, const std::string& state_dir,
                            const std::string& admin) {
  constexpr std::string_view kUndoes = "publish them again";
  if (admin != "none") {
    const std::string endpoint = EndpointOf(admin);
    const auto status = admin::AdminClient(endpoint).ReadStatus();
    if (status.ok() && status->node != node_name) return absl::OkStatus();
    if (status.ok())
      return DaemonRuns(absl::StrCat("process ", status->pid, ", ", endpoint), kUndoes);
    if (!absl::IsUnavailable(status.status())) return status.status();
  }
  if (!control::MayExist(ledger::LedgerLockPath(state_dir))) return absl::OkStatus();
  const auto lock = control::ProcessLock::TryTake(ledger::LedgerLockPath(state_dir));
  if (absl::IsFailedPrecondition(lock.status()))
    return DaemonRuns(lock.status().message(), kUndoes);
  return lock.status();
}

}  // namespace weft::cli
