// SPDX-License-Identifier: Apache-2.0
#include "control/cni/installed_config.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/cni/containerd_folders.h"
#include "control/file_io.h"
#include "control/json_fields.h"
#include "control/own_files.h"
#include "control/process_lock.h"
#include "control/state_version.h"
#include "nlohmann/json.hpp"
#include "vxlan/text/printable.h"

namespace weft::cni {

void Fields(auto& visit, control::Is<ConfigFile> auto& file) {
  visit.Required("path", file.path);
  visit.Required("texts", file.texts);
}

namespace {

using Json = control::Json;

constexpr std::string_view kFormat = "weft/cni/v1";
constexpr std::size_t kMostRecord = 16 * kMostConfigText;  // bytes

std::string RecordPath(const std::string& state_dir) {
  return absl::StrCat(state_dir, "/cni.json");
}

// ---- a configuration file on disk

enum class Found { kNothing, kFile, kOther };

Found FindFile(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(control::PathOf(path), error);
  if (status.type() == std::filesystem::file_type::not_found) return Found::kNothing;
  return std::filesystem::is_regular_file(status) ? Found::kFile : Found::kOther;
}

bool Has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// Whether the file is still what was written.
absl::Status CheckContent(const ConfigFile& file) {
  if (FindFile(file.path) == Found::kOther)
    return absl::FailedPreconditionError("it is no regular file any more");
  const absl::StatusOr<std::string> text = control::ReadFileText(file.path, kMostConfigText);
  if (!text.ok()) return text.status();
  if (Has(file.texts, *text)) return absl::OkStatus();
  return absl::FailedPreconditionError("it was changed after \"flannelctl cni install\" wrote it");
}

std::string LeftSentence(const ConfigFile& file, std::string_view why) {
  return absl::StrCat(file.path, " is left: ", why, "; remove it if it is not needed");
}

// ---- the record

absl::Status OfRecord(const std::string& state_dir, const absl::Status& why,
                      std::string_view next) {
  return absl::Status(why.code(), absl::StrCat("the record ", RecordPath(state_dir), ": ",
                                               why.message(), "; ", next));
}

absl::Status Save(const std::string& state_dir, const std::vector<ConfigFile>& files) {
  std::error_code error;
  if (files.empty()) {
    std::filesystem::remove(control::PathOf(RecordPath(state_dir)), error);
    return error ? OfRecord(state_dir, absl::UnavailableError(error.message()), "remove it")
                 : absl::OkStatus();
  }
  const absl::Status written =
      control::ReplaceFileText(RecordPath(state_dir), ConfigRecordText(files));
  return written.ok() ? written
                      : OfRecord(state_dir, written,
                                 "make room there, or give a folder this user may write to with "
                                 "--state-dir");
}

ConfigFile& FileOf(std::vector<ConfigFile>& files, const std::string& path) {
  const auto at = std::find_if(files.begin(), files.end(),
                               [&](const ConfigFile& each) { return each.path == path; });
  return at != files.end() ? *at : files.emplace_back(ConfigFile{path, {}});
}

absl::StatusOr<control::ProcessLock> TakeRecordLock(const std::string& state_dir) {
  auto lock = control::ProcessLock::TryTake(absl::StrCat(state_dir, "/cni.lock"));
  if (lock.ok()) return lock;
  return absl::Status(
      lock.status().code(),
      absl::StrCat("another \"flannelctl cni install\", or an uninstall, works on ", state_dir,
                   " (", lock.status().message(), "); run this again when it has ended"));
}

// Removes `file` if its content is ours; returns why not. A missing one counts as removed.
absl::Status Remove(const ConfigFile& file) {
  control::RemoveTemporariesOf(file.path);
  if (FindFile(file.path) == Found::kNothing) return absl::OkStatus();
  if (absl::Status ours = CheckContent(file); !ours.ok()) return ours;
  std::error_code error;
  std::filesystem::remove(control::PathOf(file.path), error);
  return error ? absl::UnavailableError(absl::StrCat("it cannot be removed: ", error.message()))
               : absl::OkStatus();
}

absl::Status OfFile(const std::string& path, const absl::Status& why, std::string_view next) {
  return absl::Status(
      why.code(), absl::StrCat("the CNI configuration ", path, ": ", why.message(), "; ", next));
}

// The text at `path` now, or why it must not be replaced. Empty: there is no file.
absl::StatusOr<std::optional<std::string>> Replaceable(const InstallRequest& request,
                                                       const ConfigFile& file) {
  const Found found = FindFile(file.path);
  if (found == Found::kNothing) return std::nullopt;
  if (found == Found::kOther)
    return OfFile(file.path, absl::FailedPreconditionError("it is no regular file"),
                  "remove it, or give another --file-name");
  absl::StatusOr<std::string> text = control::ReadFileText(file.path, kMostConfigText);
  if (text.ok() && (*text == request.text || Has(file.texts, *text))) return *std::move(text);
  if (request.overwrite) return text.ok() ? std::optional(*std::move(text)) : std::nullopt;
  return OfFile(
      file.path,
      absl::FailedPreconditionError(
          file.texts.empty() ? "there is one that \"flannelctl cni install\" did not write"
                             : "it was changed after \"flannelctl cni install\" wrote it"),
      "compare it with \"flannelctl cni render\", then run this again with --overwrite, "
      "or with another --file-name");
}

}  // namespace

std::string ConfigRecordText(const std::vector<ConfigFile>& files) {
  const Json json = {{"apiVersion", kFormat},
                     {"version", control::kStateVersion},
                     {"files", control::JsonWriter::Encode(files)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<std::vector<ConfigFile>> ParseConfigRecord(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const absl::Status other = absl::DataLossError(absl::StrCat("it is not of the format ", kFormat));
  if (!json.is_object()) return other;
  if (const absl::Status version = control::CheckStateVersion("it", json); !version.ok())
    return version;
  if (json.value("apiVersion", Json()) != kFormat) return other;
  std::vector<ConfigFile> files;
  control::JsonReader visit(json, "");
  visit.Required("files", files);
  if (!visit.status().ok()) return absl::DataLossError(visit.status().message());
  for (const ConfigFile& each : files) {
    if (!IsConfigName(each.path))
      return absl::DataLossError(absl::StrCat(Quoted(each.path, 200), " is no CNI configuration"));
  }
  return files;
}

absl::StatusOr<std::vector<ConfigFile>> ReadConfigRecord(const std::string& state_dir) {
  constexpr std::string_view kThen = "the CNI configuration that it listed is then left to you";
  const std::string next = absl::StrCat("remove it; ", kThen);
  const std::string path = RecordPath(state_dir);
  const Found found = FindFile(path);
  if (found == Found::kNothing) return std::vector<ConfigFile>();
  if (found == Found::kOther)
    return OfRecord(state_dir, absl::FailedPreconditionError("it is no regular file"), next);
  for (const std::string& each : {state_dir, path}) {
    if (const absl::Status own = control::CheckOwn(each); !own.ok())
      return OfRecord(state_dir, own, next);
  }
  const absl::StatusOr<std::string> text = control::ReadFileText(path, kMostRecord);
  if (!text.ok()) return OfRecord(state_dir, text.status(), next);
  auto files = ParseConfigRecord(*text);
  if (files.ok()) return files;
  return OfRecord(state_dir, files.status(), absl::IsUnimplemented(files.status()) ? kThen : next);
}

std::string WhyUnfit(const std::string& state_dir, const NodeFacts& facts) {
  const absl::Status known = control::CheckStateFile(RecordPath(state_dir));
  if (!known.ok()) return std::string(known.message());
  const absl::StatusOr<std::vector<ConfigFile>> files = ReadConfigRecord(state_dir);
  if (!files.ok()) return std::string(files.status().message());
  constexpr std::string_view kNext = "run \"flannelctl cni install\" again";
  for (const ConfigFile& file : *files) {
    if (FindFile(file.path) != Found::kFile) continue;
    const auto text = control::ReadFileText(file.path, kMostConfigText);
    const auto remarks = text.ok() ? ExplainConfig(*text, facts, file.path)
                                   : absl::StatusOr<std::vector<Remark>>(text.status());
    if (!remarks.ok()) return std::string(OfFile(file.path, remarks.status(), kNext).message());
    for (const Remark& each : *remarks) {
      // Whatever else an operator changed in it may be meant so.
      if (each.finding.empty() || !(each.member == "name" || each.member.ends_with("type") ||
                                    each.member.ends_with("subnet")))
        continue;
      const absl::Status why =
          absl::FailedPreconditionError(absl::StrCat(each.member, ": ", each.finding));
      return std::string(OfFile(file.path, why, kNext).message());
    }
  }
  return "";
}

absl::StatusOr<InstalledConfig> InstallConfig(const InstallRequest& request) {
  const auto begin_change = [&request] {
    if (request.before_change) request.before_change();
  };
  if (!IsConfigName(request.path))
    return OfFile(request.path, absl::InvalidArgumentError("containerd does not read it"),
                  "its name must end in .conflist, .conf or .json");
  if (request.text.size() > kMostConfigText)
    return OfFile(request.path, absl::InvalidArgumentError("its text is too long"), "shorten it");
  begin_change();
  if (const auto made = control::MakeOwnFolder(request.state_dir); !made.ok())
    return absl::Status(made.status().code(), absl::StrCat("the folder ", request.state_dir, ": ",
                                                           made.status().message(),
                                                           "; give another one with --state-dir"));
  begin_change();
  const auto lock = TakeRecordLock(request.state_dir);
  if (!lock.ok()) return lock.status();
  absl::StatusOr<std::vector<ConfigFile>> files = ReadConfigRecord(request.state_dir);
  InstalledConfig result;
  const bool has_record = !absl::IsUnimplemented(files.status());
  if (!has_record) {
    result.left.emplace_back(files.status().message());
    if (FindFile(request.path) != Found::kNothing) {  // perhaps the later weft's
      const auto text = control::ReadFileText(request.path, kMostConfigText);
      result.differs = !text.ok() || *text != request.text;
      return result;
    }
    files = std::vector<ConfigFile>();
  }
  if (!files.ok()) return files.status();
  ConfigFile file = FileOf(*files, request.path);
  const auto found = Replaceable(request, file);
  if (!found.ok()) return found.status();

  result.written = *found != request.text;
  const std::vector<ConfigFile> before = *files;
  if (has_record && !Has(file.texts, request.text)) {
    // A file that `overwrite` replaces does not become ours before it is replaced.
    file.texts.push_back(request.text);
    FileOf(*files, request.path) = file;
    begin_change();
    if (absl::Status saved = Save(request.state_dir, *files); !saved.ok()) return saved;
  }
  if (result.written) {
    const std::filesystem::path folder = control::PathOf(request.path).parent_path();
    constexpr std::string_view kNext = "make room there, or give another --conf-dir";
    begin_change();
    if (const std::error_code error = control::MakeFolders(folder); error)
      return OfFile(request.path, absl::UnavailableError(error.message()), kNext);
    begin_change();
    control::RemoveTemporariesOf(request.path);
    begin_change();
    if (const absl::Status status = control::ReplaceFileText(request.path, request.text);
        !status.ok())
      return OfFile(request.path, status, kNext);
  }
  std::vector<ConfigFile> after = {{request.path, {request.text}}};
  for (const ConfigFile& each : *files) {
    if (each.path == request.path) continue;
    begin_change();
    const absl::Status removed = Remove(each);
    if (removed.ok()) {
      result.removed.push_back(each.path);
    } else {
      result.left.push_back(LeftSentence(each, removed.message()));
      if (!absl::IsFailedPrecondition(removed)) after.push_back(each);  // tried again
    }
  }
  if (has_record && after != before) {
    begin_change();
    if (absl::Status saved = Save(request.state_dir, after); !saved.ok()) return saved;
  }
  return result;
}

absl::StatusOr<RemovedConfig> RemoveInstalledConfig(const std::string& state_dir, bool dry_run) {
  RemovedConfig result;
  if (FindFile(RecordPath(state_dir)) == Found::kNothing) return result;
  const auto lock = TakeRecordLock(state_dir);
  if (!lock.ok()) return lock.status();
  const absl::StatusOr<std::vector<ConfigFile>> files = ReadConfigRecord(state_dir);
  if (!files.ok()) return files.status();
  std::vector<ConfigFile> after;
  for (const ConfigFile& each : *files) {
    const bool exists = FindFile(each.path) != Found::kNothing;
    const absl::Status status = !dry_run ? Remove(each)
                                : exists ? CheckContent(each)
                                         : absl::OkStatus();
    if (!status.ok()) {
      result.left.push_back(LeftSentence(each, status.message()));
      after.push_back(each);
    } else if (exists) {
      result.removed.push_back(each.path);
    }
  }
  if (!dry_run) {
    if (absl::Status saved = Save(state_dir, after); !saved.ok()) return saved;
  }
  return result;
}

}  // namespace weft::cni
