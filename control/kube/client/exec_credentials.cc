// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/exec_credentials.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "control/child_process.h"
#include "control/command_line.h"
#include "control/file_io.h"
#include "control/kube/client/credentials_file.h"
#include "control/own_files.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

constexpr std::size_t kMostShown = 200;  // bytes of a plugin's own error message

absl::Status Failure(const ExecPlugin& plugin, std::string_view what) {
  return absl::UnauthenticatedError(absl::StrCat("the exec plugin ", Quoted(plugin.command),
                                                 " of kubeconfig ", plugin.kubeconfig, " ", what));
}

// The first line that it printed on standard error.
std::string SaidOf(const std::string& errors) {
  const std::string_view text = absl::StripAsciiWhitespace(errors);
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.empty() ? "" : absl::StrCat(": ", Quoted(line, kMostShown));
}

absl::StatusOr<ExecCredential> Run(const ExecPlugin& plugin, const ClusterAccess& access,
                                   std::chrono::milliseconds limit, const std::atomic<bool>& stop) {
  const auto program = control::FindProgram(plugin.command, control::Variable("PATH").value_or(""),
                                            control::Variable("PATHEXT").value_or(""));
  if (!program.ok()) {
    const std::string_view hint = absl::StripAsciiWhitespace(plugin.install_hint);
    return Failure(plugin,
                   absl::StrCat("cannot be run: ", program.status().message(),
                                hint.empty() ? "; install it, or correct users[].user.exec.command"
                                             : absl::StrCat("; ", Quoted(hint, 4 * kMostShown))));
  }
  if (const absl::Status own = CheckExecFiles(plugin, *program); !own.ok())
    return Failure(plugin, absl::StrCat("is not run: ", own.message()));
  std::string ca;
  if (plugin.provide_cluster_info && !access.certificate_authority.empty()) {
    auto text = ReadSecret(access.certificate_authority, "CA");
    if (!text.ok()) return text.status();
    ca = *std::move(text);
  }
  control::ChildSpec spec{*program, plugin.args, plugin.env, limit};
  spec.env.emplace_back("KUBERNETES_EXEC_INFO", ExecInfo(plugin, access, ca));
  const auto result = control::RunChild(spec, stop);
  if (!result.ok()) return Failure(plugin, result.status().message());
  if (result->exit_code != 0) {
    return Failure(
        plugin, absl::StrCat("ended with exit status ", result->exit_code, SaidOf(result->errors),
                             "; run it by hand, and correct its settings"));
  }
  auto credential = ParseExecCredential(result->output, plugin.api_version);
  if (!credential.ok())
    return Failure(plugin, absl::StrCat("is unusable: ", credential.status().message()));
  return credential;
}

}  // namespace

struct ExecCredentials::Impl : std::enable_shared_from_this<Impl> {
  Impl(boost::asio::io_context& loop, ClusterAccess of, std::function<absl::Time()> clock,
       std::chrono::milliseconds longest)
      : io(loop), access(std::move(of)), now(std::move(clock)), limit(longest) {}

  bool Usable() const {
    if (!credential) return false;
    if (!credential->expires) return true;
    const absl::Duration life = *credential->expires - received;
    return now() < *credential->expires - std::min(kEarly, life / 10);
  }
  void Start();
  void Finish(absl::StatusOr<ExecCredential> result);
  void Join() {
    if (thread.joinable()) thread.join();
  }

  boost::asio::io_context& io;
  const ClusterAccess access;
  const std::function<absl::Time()> now;
  const std::chrono::milliseconds limit;
  Credential credential;
  absl::Time received;
  std::vector<Done> waiting;
  bool running = false;
  std::atomic<bool> stop{false};
  std::thread thread;
};

void ExecCredentials::Impl::Start() {
  Join();
  // The thread ends before this object: ~ExecCredentials joins it.
  thread = std::thread([this] {
    auto result =
        std::make_shared<absl::StatusOr<ExecCredential>>(Run(*access.exec, access, limit, stop));
    boost::asio::post(io, [self = weak_from_this(), result] {
      if (const auto still = self.lock()) still->Finish(std::move(*result));
    });
  });
  running = true;
}

void ExecCredentials::Impl::Finish(absl::StatusOr<ExecCredential> result) {
  running = false;
  absl::StatusOr<Credential> given = absl::UnknownError("");
  if (result.ok()) {
    credential = std::make_shared<const ExecCredential>(*std::move(result));
    received = now();
    given = credential;
  } else {
    given = result.status();
  }
  for (const Done& done : std::exchange(waiting, {})) done(given);
}

ExecCredentials::ExecCredentials(boost::asio::io_context& io, ClusterAccess access,
                                 std::function<absl::Time()> now, std::chrono::milliseconds limit)
    : impl_(std::make_shared<Impl>(io, std::move(access), std::move(now), limit)) {}

ExecCredentials::~ExecCredentials() {
  impl_->stop = true;
  impl_->Join();
}

void ExecCredentials::Get(Done done) {
  if (impl_->Usable()) return done(impl_->credential);
  impl_->waiting.push_back(std::move(done));
  if (!impl_->running) impl_->Start();
}

void ExecCredentials::Refused(const Credential& credential) {
  if (impl_->credential == credential) impl_->credential.reset();
}

absl::Status CheckExecFiles(const ExecPlugin& plugin, const std::string& program) {
  std::vector<std::string> files = {plugin.kubeconfig, program};
  std::error_code error;
  const auto target = std::filesystem::canonical(control::PathOf(program), error);
  if (!error) {
    const std::u8string text = target.u8string();
    files.emplace_back(text.begin(), text.end());
  }
  for (const std::string& file : files) {
    const absl::Status own = control::CheckOwn(file);
    if (own.ok()) continue;
    return absl::UnauthenticatedError(absl::StrCat(
        own.message(), absl::IsPermissionDenied(own)
                           ? ", so that user could run any program as flanneld; let only root or "
                             "Administrators own and write it"
                           : "; let flanneld read its owner"));
  }
  return absl::OkStatus();
}

}  // namespace weft::kube
