// SPDX-License-Identifier: Apache-2.0
#include "control/cli/node_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "control/cni/source_vip.h"
#include "control/file_io.h"
#include "control/own_files.h"
#include "control/process_lock.h"
#include "nlohmann/json.hpp"
#include "vxlan/ip_prefix.h"
#include "vxlan/text/printable.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostText = 64 * 1024;  // bytes of a file whose content decides
constexpr std::string_view kNotOurs = "flanneld did not write it";
constexpr std::string_view kUninspected = "it cannot be inspected";

// A link is kOther.
enum class Kind { kNone, kFile, kFolder, kOther, kUnknown };

Kind KindOf(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(control::PathOf(path), error);
  switch (status.type()) {
    case fs::file_type::none:  // it cannot be inspected
      return Kind::kUnknown;
    case fs::file_type::not_found:
      return Kind::kNone;
    case fs::file_type::regular:
      return Kind::kFile;
    case fs::file_type::directory:
      return Kind::kFolder;
    default:
      return Kind::kOther;
  }
}

// A file, or a folder that is empty by then.
absl::Status Remove(const std::string& path) {
  std::error_code error;
  fs::remove(control::PathOf(path), error);
  return error ? absl::UnavailableError(absl::StrCat(path, ": ", error.message()))
               : absl::OkStatus();
}

// Finds what is ours, folder by folder.
class Finder {
 public:
  using IsOurs = std::function<bool(const std::string& name)>;

  // The file, if `content` accepts its text.
  void File(const std::string& path, const std::function<bool(const std::string&)>& content) {
    switch (KindOf(path)) {
      case Kind::kNone:
        return;
      case Kind::kUnknown:
        return Keep(path, kUninspected);
      case Kind::kFolder:
      case Kind::kOther:
        return Keep(path, "it is no file");
      case Kind::kFile:
        break;
    }
    const absl::StatusOr<std::string> text = control::ReadFileText(path, kMostText);
    if (!text.ok()) return Keep(path, text.status().message());
    if (!content(*text)) return Keep(path, kNotOurs);
    Add(path, [path] {
      control::RemoveTemporariesOf(path);
      return Remove(path);
    });
  }

  // The folder's files of which `is_ours` accepts the name, then the folder, unless something stays
  // in it.
  void Folder(const std::string& path, const IsOurs& is_ours,
              const std::function<absl::Status(const std::string& file)>& remove = Remove) {
    if (KindOf(path) == Kind::kNone) return;
    if (KindOf(path) == Kind::kUnknown) return Keep(path, kUninspected);
    if (KindOf(path) != Kind::kFolder) return Keep(path, "it is no folder");
    std::vector<std::string> names;
    std::error_code error;
    fs::directory_iterator each(control::PathOf(path), error);  // an error ends it
    for (; each != fs::directory_iterator(); each.increment(error)) {
      const std::u8string name = each->path().filename().u8string();
      names.emplace_back(name.begin(), name.end());
    }
    if (error) return Keep(path, error.message());
    std::ranges::sort(names);
    bool empty = true;
    for (const std::string& name : names) {
      const std::string file = absl::StrCat(path, "/", name);
      if (KindOf(file) == Kind::kFile && is_ours(name)) {
        Add(file, [file, remove] { return remove(file); });
      } else {
        Keep(file, kNotOurs);
        empty = false;
      }
    }
    if (empty) Add(path, [path] { return Remove(path); });
  }

  Deletions Take() { return std::move(found_); }

 private:
  void Add(const std::string& what, std::function<absl::Status()> apply) {
    found_.rows.push_back({what, std::move(apply)});
  }
  void Keep(const std::string& path, std::string_view why) {
    found_.kept.push_back(absl::StrCat(path, ": ", why));
  }

  Deletions found_;
};

bool IsSubnetEnv(const std::string& text) {
  bool any = false;
  for (const std::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    if (!line.starts_with("FLANNEL_") || !absl::StrContains(line, '=')) return false;
    any = true;
  }
  return any;
}

// Whether it is byte for byte what flanneld writes for its own address.
bool IsSourceVipJson(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.contains("ip4") || !json["ip4"].is_object()) return false;
  const auto& ip = json["ip4"].value("ip", nlohmann::json());
  if (!ip.is_string()) return false;
  const std::vector<std::string> parts = absl::StrSplit(ip.get<std::string>(), '/');
  const auto address = IpAddress::Parse(parts[0]);
  int length = 0;
  if (parts.size() != 2 || !address || !absl::SimpleAtoi(parts[1], &length)) return false;
  const auto subnet = IpPrefix::Parse(absl::StrCat(address->ToString(), "/", length));
  return subnet && cni::SourceVipJson(*address, *subnet) == text;
}

// "last_reserved_ip.0": one for each range.
bool IsLastReserved(std::string_view name) {
  return absl::ConsumePrefix(&name, "last_reserved_ip.") && !name.empty() &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

// host-local writes "fd00__1" for an IPv6 address on Windows.
std::optional<IpAddress> AddressOf(std::string name) {
  std::ranges::replace(name, '_', ':');
  return IpAddress::Parse(name);
}

bool IsHostLocals(const std::string& name) {
  if (name == "lock" || IsLastReserved(name) || AddressOf(name)) return true;
  const std::string address = name.substr(0, name.rfind('.'));
  return control::IsTemporaryOf(name, address) && AddressOf(address);
}

bool IsFolderName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\:\0", 4)) == std::string_view::npos;
}

std::vector<std::string> StoreFolders(const NodeFiles& files) {
  std::vector<std::string> folders;
  if (files.source_vip_store.empty()) return folders;
  for (const std::string& network : files.networks)
    if (IsFolderName(network))
      folders.push_back(absl::StrCat(files.source_vip_store, "/", network));
  return folders;
}

// Not while host-local gives out or releases an address.
absl::Status RemoveLocked(const std::string& file) {
  const std::string lock_path = absl::StrCat(file.substr(0, file.find_last_of('/')), "/lock");
  if (file == lock_path || KindOf(lock_path) == Kind::kNone) return Remove(file);
  const auto lock = control::ProcessLock::TryTakeHostLocal(lock_path);
  return lock.ok() ? Remove(file) : lock.status();
}

// flanneld.log, flanneld.1.log, ...
bool IsLog(const std::string& name) {
  if (name == "flanneld.log") return true;
  if (!name.starts_with("flanneld.") || !name.ends_with(".log")) return false;
  const std::string_view middle = std::string_view(name).substr(9, name.size() - 9 - 4);
  return !middle.empty() && std::all_of(middle.begin(), middle.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

bool IsState(const std::string& name) {
  for (const std::string_view each :
       {"journal.json", "ledger.json", "ledger.changes", "cni.json"}) {
    if (name == each || control::IsTemporaryOf(name, each)) return true;
    std::string_view rest = name;
    if (absl::ConsumePrefix(&rest, each) && absl::ConsumePrefix(&rest, ".broken-") &&
        control::IsRandomName(rest))
      return true;
  }
  return name == "lock" || name == "cni.lock";
}

}  // namespace

Deletions FindDeletions(const NodeFiles& files) {
  Finder finder;
  if (!files.source_vip_file.empty()) finder.File(files.source_vip_file, IsSourceVipJson);
  for (const std::string& folder : StoreFolders(files))
    finder.Folder(folder, IsHostLocals, RemoveLocked);
  if (!files.subnet_file.empty()) finder.File(files.subnet_file, IsSubnetEnv);
  finder.Folder(files.log_dir, IsLog);
  return finder.Take();
}

Deletions FindStateDeletions(const NodeFiles& files) {
  Finder finder;
  finder.Folder(files.state_dir, IsState);
  return finder.Take();
}

std::vector<std::string> ContainersIn(const NodeFiles& files) {
  std::vector<std::string> containers;
  for (const std::string& folder : StoreFolders(files)) {
    std::error_code error;
    fs::directory_iterator each(control::PathOf(folder), error);  // an error ends it
    for (; each != fs::directory_iterator(); each.increment(error)) {
      const std::u8string wide = each->path().filename().u8string();
      const std::string name(wide.begin(), wide.end());
      const auto address = AddressOf(name);
      if (!address) continue;
      const auto text = control::ReadFileText(absl::StrCat(folder, "/", name), kMostText);
      if (text.ok() && cni::IsSourceVipContent(*text)) continue;
      const std::string_view id =
          text.ok() ? std::string_view(*text).substr(0, text->find_first_of("\r\n"))
                    : "its file cannot be read";
      containers.push_back(absl::StrCat(address->ToString(), " (", Quoted(id), ")"));
    }
    if (error && error != std::errc::no_such_file_or_directory &&
        error != std::errc::not_a_directory)
      containers.push_back(absl::StrCat(folder, " (", error.message(), ")"));
  }
  std::ranges::sort(containers);
  return containers;
}

bool Delete(const Deletions& deletions, bool dry_run, std::string_view verb, Io& io) {
  for (const Deletion& each : deletions.rows) {
    if (const absl::Status status = dry_run ? absl::OkStatus() : each.apply(); !status.ok()) {
      io.err << "flannelctl " << verb << ": " << status.message() << "\n"
             << "flannelctl " << verb << ": not complete; run it again\n";
      return false;
    }
    io.out << (dry_run ? "would delete " : "deleted ") << each.what << "\n";
  }
  for (const std::string& each : deletions.kept) io.out << "left " << each << "\n";
  return true;
}

}  // namespace weft::cli
