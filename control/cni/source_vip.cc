// SPDX-License-Identifier: Apache-2.0
#include "control/cni/source_vip.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/process_lock.h"
#include "nlohmann/json.hpp"

namespace weft::cni {
namespace {

namespace fs = std::filesystem;

// host-local's line break on every system.
constexpr std::string_view kBreak = "\r\n";
// RKE2's ids (pkg/windows/flannel.go) and ours.
constexpr std::string_view kId = "kube-proxy", kInterface = "source-vip";
// Those of microsoft/SDN's and sig-windows-tools' scripts.
constexpr std::string_view kScriptId = "dummy";

// Larger than any content that is looked for.
constexpr std::size_t kMostContent = 256;  // bytes

enum class Holder : std::uint8_t { kOther, kScript, kOurs };

std::string Content() { return absl::StrCat(kId, kBreak, kInterface); }

// host-local also accepts the id alone, as its early versions wrote it.
Holder HolderOf(std::string_view content) {
  content = absl::StripAsciiWhitespace(content);
  if (content == Content() || content == kId) return Holder::kOurs;
  if (content == absl::StrCat(kScriptId, kBreak, kScriptId) || content == kScriptId)
    return Holder::kScript;
  return Holder::kOther;
}

Holder HolderAt(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(control::PathOf(path), error))) return Holder::kOther;
  const absl::StatusOr<std::string> text = control::ReadFileText(path, kMostContent);
  return text.ok() ? HolderOf(*text) : Holder::kOther;
}

std::string FolderOf(const std::string& store, const std::string& network) {
  return absl::StrCat(store, "/", network);
}

// A name that leads out of the store, or that the file system changes.
absl::Status CheckName(const std::string& network) {
  const bool bad = network.empty() || network == "." || network == ".." ||
                   network.find_first_of(std::string_view("/\\:\0", 4)) != std::string::npos;
  if (!bad) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("source VIP: the network's name \"", network,
                   "\" cannot be a folder of host-local's store; change Name in net-conf, or give "
                   "--source-vip-store= to reserve none"));
}

absl::Status Failure(absl::StatusCode code, std::string_view what, std::string_view cause) {
  return absl::Status(
      code, absl::StrCat("source VIP: ", what, ": ", cause,
                         "; kube-proxy has no source VIP until this is corrected: make the folder "
                         "writable for flanneld, or name another with --source-vip-store"));
}

struct Taken {
  std::set<IpAddress> addresses;
  std::vector<IpAddress> ours, scripts;  // ascending
  std::vector<std::string> torn;         // files that a killed run left
};

// What a killed ReplaceFileText of an address's file leaves.
bool IsTorn(std::string_view name) {
  const std::string_view address = name.substr(0, name.rfind('.'));
  return control::IsTemporaryOf(name, address) && IpAddress::Parse(address);
}

absl::StatusOr<Taken> Scan(const std::string& folder) {
  Taken taken;
  std::error_code error;
  fs::directory_iterator each(control::PathOf(folder), error);
  for (; !error && each != fs::directory_iterator(); each.increment(error)) {
    const std::u8string wide = each->path().filename().u8string();
    const std::string name(wide.begin(), wide.end());
    if (IsTorn(name)) taken.torn.push_back(absl::StrCat(folder, "/", name));
    const std::optional<IpAddress> address = IpAddress::Parse(name);
    if (!address || !address->is_v4()) continue;
    taken.addresses.insert(*address);
    const Holder holder = HolderAt(absl::StrCat(folder, "/", name));
    if (holder == Holder::kOurs) taken.ours.push_back(*address);
    if (holder == Holder::kScript) taken.scripts.push_back(*address);
  }
  if (error) {
    return Failure(absl::StatusCode::kUnavailable, absl::StrCat("cannot read the folder ", folder),
                   error.message());
  }
  std::ranges::sort(taken.ours);
  std::ranges::sort(taken.scripts);
  return taken;
}

// What host-local gives out of `subnet`, without the gateway: the second address to the last but
// one.
struct Range {
  std::uint32_t first, last;
  bool Contains(const IpAddress& address) const {
    return address.is_v4() && address.v4() >= first && address.v4() <= last;
  }
};

absl::StatusOr<Range> RangeOf(const IpPrefix& subnet) {
  constexpr int kMostLength = 30;  // host-local's
  if (subnet.family() != IpFamily::kV4 || subnet.length() > kMostLength) {
    return absl::InvalidArgumentError(
        absl::StrCat("source VIP: the PodCIDR ", subnet.ToString(),
                     " has no address for it; give this node an IPv4 PodCIDR of /30 or larger"));
  }
  const std::uint32_t base = subnet.base().v4();
  const std::uint32_t size = subnet.length() == 0 ? 0 : 1u << (32 - subnet.length());
  return Range{base + 2, base + size - 2};
}

std::optional<IpAddress> Chosen(const Taken& taken, const Range& range) {
  for (const std::vector<IpAddress>* of : {&taken.ours, &taken.scripts}) {
    for (const IpAddress& address : *of)
      if (range.Contains(address)) return address;
  }
  return std::nullopt;
}

absl::Status Remove(const std::string& path) {
  std::error_code error;
  fs::remove(control::PathOf(path), error);
  if (!error) return absl::OkStatus();
  return Failure(absl::StatusCode::kUnavailable, absl::StrCat("cannot release ", path),
                 error.message());
}

absl::StatusOr<control::ProcessLock> TakeLock(const std::string& folder) {
  absl::StatusOr<control::ProcessLock> lock =
      control::ProcessLock::TryTakeHostLocal(absl::StrCat(folder, "/lock"));
  if (lock.ok() || !absl::IsFailedPrecondition(lock.status())) {
    if (lock.ok()) return lock;
    return Failure(absl::StatusCode::kUnavailable, folder, lock.status().message());
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "source VIP: ", lock.status().message(),
      ", as host-local does while it starts or ends a pod; flanneld tries again. If this lasts, "
      "end the host-local process that hangs"));
}

absl::StatusOr<IpAddress> Reserve(const std::string& folder, const SourceVipSpec& spec,
                                  const Taken& taken, const Range& range,
                                  const std::optional<IpAddress>& preferred) {
  const auto is_free = [&](const IpAddress& address) {
    return range.Contains(address) && !taken.addresses.contains(address);
  };
  IpAddress address = preferred && is_free(*preferred) ? *preferred : IpAddress::V4(range.first);
  while (range.Contains(address) && !is_free(address)) address = address.Next();
  if (!range.Contains(address)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "source VIP: no address of ", spec.subnet.ToString(), " is free: ", folder, " has ",
        taken.addresses.size(),
        " reservations; flanneld tries again. End a pod of this node, or remove files there whose "
        "container no longer exists"));
  }
  const std::string path = absl::StrCat(folder, "/", address.ToString());
  // The lock is held and the file does not exist, so nothing is replaced; a reader, and a power
  // cut, sees all of it or none.
  const absl::Status status = control::ReplaceFileText(path, Content());
  if (!status.ok())
    return Failure(status.code(), absl::StrCat("cannot reserve ", path), status.message());
  return address;
}

}  // namespace

absl::StatusOr<IpAddress> ReserveSourceVip(const SourceVipSpec& spec,
                                           const std::optional<IpAddress>& preferred) {
  if (absl::Status status = CheckName(spec.network); !status.ok()) return status;
  const absl::StatusOr<Range> range = RangeOf(spec.subnet);
  if (!range.ok()) return range.status();
  const std::string folder = FolderOf(spec.store, spec.network);
  if (const std::error_code error = control::MakeFolders(control::PathOf(folder)); error) {
    return Failure(absl::StatusCode::kUnavailable,
                   absl::StrCat("cannot create the folder ", folder), error.message());
  }
  const absl::StatusOr<control::ProcessLock> lock = TakeLock(folder);
  if (!lock.ok()) return lock.status();
  const absl::StatusOr<Taken> taken = Scan(folder);
  if (!taken.ok()) return taken.status();
  for (const std::string& path : taken->torn) {
    if (absl::Status status = Remove(path); !status.ok()) return status;
  }
  std::optional<IpAddress> address = Chosen(*taken, *range);
  if (!address) {
    absl::StatusOr<IpAddress> reserved = Reserve(folder, spec, *taken, *range, preferred);
    if (!reserved.ok()) return reserved;
    address = *reserved;
  }
  for (const IpAddress& old : taken->ours) {
    if (old == *address) continue;
    absl::Status status = Remove(absl::StrCat(folder, "/", old.ToString()));
    if (!status.ok()) return status;
  }
  return *address;
}

absl::StatusOr<std::optional<IpAddress>> FindSourceVip(const SourceVipSpec& spec, bool or_former) {
  if (absl::Status status = CheckName(spec.network); !status.ok()) return status;
  const absl::StatusOr<Range> range = RangeOf(spec.subnet);
  if (!range.ok()) return range.status();
  const std::string folder = FolderOf(spec.store, spec.network);
  std::error_code error;
  if (!fs::exists(control::PathOf(folder), error) && !error) return std::nullopt;
  const absl::StatusOr<Taken> taken = Scan(folder);
  if (!taken.ok()) return taken.status();
  const std::optional<IpAddress> found = Chosen(*taken, *range);
  return found || !or_former || taken->ours.empty() ? found : taken->ours.front();
}

bool IsSourceVip(const SourceVipSpec& spec, const IpAddress& address) {
  return HolderAt(absl::StrCat(FolderOf(spec.store, spec.network), "/", address.ToString())) !=
         Holder::kOther;
}

bool IsSourceVipContent(std::string_view content) { return HolderOf(content) != Holder::kOther; }

std::string SourceVipJson(const IpAddress& address, const IpPrefix& subnet) {
  const std::string with_length = absl::StrCat(address.ToString(), "/", subnet.length());
  const std::string gateway = subnet.base().Next().ToString();
  nlohmann::ordered_json json;
  json["cniVersion"] = "1.0.0";
  json["ip4"] = {{"ip", with_length}, {"gateway", gateway}};
  json["ips"] = {{{"address", with_length}, {"gateway", gateway}}};
  json["dns"] = nlohmann::ordered_json::object();
  return json.dump(2) + "\n";
}

}  // namespace weft::cni
