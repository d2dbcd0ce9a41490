// SPDX-License-Identifier: Apache-2.0
#include "control/node/subnet_file.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/own_files.h"
#include "vxlan/text/printable.h"

namespace weft::node {
namespace {

namespace fs = std::filesystem;

// A larger file is not ours.
constexpr std::size_t kMaxSize = 64 * 1024;  // bytes

// How long another program's change stays before the file is restored again; doubled each time.
constexpr auto kFirstYield = std::chrono::seconds(10);
constexpr auto kLongestYield = std::chrono::minutes(5);
// Without a change for two pauses and this, at most kMostRest, counting starts again: longer than
// another flanneld pauses.
constexpr auto kRest = std::chrono::minutes(1);
constexpr auto kMostRest = 2 * kLongestYield;

// Unavailable: there may be one of any lease.
absl::StatusOr<std::string> Read(const std::string& path) {
  std::error_code error;
  const fs::file_status found = fs::status(control::PathOf(path), error);
  // Opening a FIFO would wait for its writer.
  if (fs::exists(found) && !fs::is_regular_file(found))
    return absl::FailedPreconditionError("it is no file");
  return control::ReadFileText(path, kMaxSize);
}

std::string FolderOf(const std::string& path) {
  const std::size_t end = path.find_last_of("/\\");
  return end == std::string::npos ? "" : path.substr(0, end);
}

// What is at `path` in place of `text`.
std::string Describe(const std::string& path, const std::string& text) {
  constexpr std::size_t kShown = 300;  // bytes; ours has at most about 250
  const absl::StatusOr<std::string> found = Read(path);
  if (absl::IsNotFound(found.status())) return "it was missing";
  if (!found.ok()) return "it could not be read";
  if (*found == text) return "another user could alter it";
  return absl::StrCat("it had ", Quoted(*found, kShown));
}

// The operator's text of `aside` (own_files.h).
std::string_view TextOf(const absl::StatusOr<std::string>& aside) {
  if (aside.ok()) return *aside;
  return absl::IsPermissionDenied(aside.status()) ? aside.status().message() : "";
}

}  // namespace

absl::Status SubnetFile::Write(const std::string& text) {
  const std::string folder = FolderOf(path_);
  absl::StatusOr<std::string> made = std::string();
  if (!folder.empty()) made = control::MakeOwnFolder(folder);
  const absl::StatusOr<std::string> aside = control::SetForeignAside(path_);
  const std::string_view of_folder = TextOf(made), of_file = TextOf(aside);
  foreign_.Set(of_folder.empty() ? of_file : of_folder);
  // A folder that remains another user's must not leave the node without pods.
  absl::Status status = absl::IsPermissionDenied(made.status()) ? absl::OkStatus() : made.status();
  if (status.ok() && !text_) control::RemoveTemporariesOf(path_);
  if (status.ok()) status = control::ReplaceFileText(path_, text);
  if (!status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat("subnet file ", path_, ": ", status.message(), "; ",
                                     control::StepToWrite(status, "--subnet-file")));
  }
  text_ = text;
  reports_owner_ = control::CheckOwn(path_).ok();
  return absl::OkStatus();
}

bool SubnetFile::Matches(const std::string& text) const {
  const absl::StatusOr<std::string> read = Read(path_);
  return read.ok() && *read == text && (!reports_owner_ || control::CheckOwn(path_).ok());
}

bool SubnetFile::IsOf(const SubnetEnv& env) const {
  const absl::StatusOr<std::string> text = Read(path_);
  if (!text.ok() || !OtherLease(*text, env).empty() || !control::CheckOwn(path_).ok()) return false;
  const auto names = [&](std::string_view key, const std::optional<SubnetEnvFamily>& family) {
    return ReadPrefixes(*text, key).empty() != family.has_value();
  };
  return names("FLANNEL_SUBNET", env.v4) && names("FLANNEL_IPV6_SUBNET", env.v6);
}

std::vector<IpPrefix> SubnetFile::Subnets() const {
  const std::string text = Read(path_).value_or("");
  std::vector<IpPrefix> subnets = ReadPrefixes(text, "FLANNEL_SUBNET");
  for (const IpPrefix& each : ReadPrefixes(text, "FLANNEL_IPV6_SUBNET")) subnets.push_back(each);
  return subnets;
}

absl::Status SubnetFile::Keep(const std::string& text, control::TimePoint now) {
  const bool matches = Matches(text);
  replaced_.clear();
  if (matches && text_ == text) {
    const auto rest = std::min<control::Duration>(2 * pause_ + kRest, kMostRest);
    if (changes_ > 0 && now - put_back_at_ >= rest) changes_ = 0;
  } else if (matches || text_ != text) {  // of an earlier process, or of our own change
    if (absl::Status status = Write(text); !status.ok()) return status;
  } else if (changes_ == 0 || now - put_back_at_ >= pause_) {
    std::string was = Describe(path_, text);
    if (absl::Status status = Write(text); !status.ok()) return status;
    replaced_ = std::move(was);
    pause_ = changes_++ == 0 ? kFirstYield : std::min<control::Duration>(2 * pause_, kLongestYield);
    put_back_at_ = now;
  }
  if (changes_ < 2) return absl::OkStatus();
  const auto ago = std::chrono::duration_cast<std::chrono::seconds>(now - put_back_at_);
  return absl::AbortedError(absl::StrCat(
      "subnet file ", path_, ": another program keeps changing it: restored ", changes_,
      " times, last ", ago.count(), " s ago",
      Matches(text) ? "" : "; it has the other's text for a pause of up to five minutes",
      "; if that is a second flanneld, stop it, or give it its own --subnet-file"));
}

absl::StatusOr<std::string> SubnetFile::WithdrawUnlessOf(const SubnetEnv& env) {
  const absl::StatusOr<std::string> text = Read(path_);
  if (absl::IsUnavailable(text.status())) {
    return absl::UnavailableError(
        absl::StrCat("subnet file ", path_, " may be of another lease: ", text.status().message(),
                     "; let flanneld read it, or remove it"));
  }
  std::string other = text.ok() ? OtherLease(*text, env) : "";
  if (other.empty()) return other;
  text_.reset();
  std::error_code error;
  fs::remove(control::PathOf(path_), error);
  if (!error) return other;
  return absl::UnavailableError(absl::StrCat(
      "subnet file ", path_, " was written for ", other,
      ", and cannot be removed: ", error.message(),
      "; remove it, or make its folder writable: pods would start with its addresses"));
}

}  // namespace weft::node
