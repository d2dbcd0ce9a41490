// SPDX-License-Identifier: Apache-2.0
#include "control/cni/source_vip_keeper.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/log.h"

namespace weft::cni {
namespace {

constexpr auto kPause = std::chrono::seconds(1);
constexpr auto kUnsaid = std::chrono::seconds(5), kLongestWait = std::chrono::seconds(30);
constexpr std::size_t kMostFile = 64 * 1024;  // bytes; a larger sourceVip.json is not ours

}  // namespace

void SourceVipKeeper::Keep(const std::string& network, const IpPrefix& subnet, const InHns& hns,
                           control::TimePoint now) {
  const SourceVipSpec spec{store_, network, subnet};
  const bool same = spec_ == spec;
  if (same && now < again_ && !(awaits_used_ && hns.known)) return;
  again_ = now + kPause;
  spec_ = spec;
  if (!used_) {
    const absl::StatusOr<std::optional<IpAddress>> reserved = FindSourceVip(spec);
    if (hns.exists && !exists_since_) exists_since_ = now;
    const auto waited = now - exists_since_.value_or(now);
    awaits_used_ = !hns.known && reserved.ok() && !*reserved && waited < kLongestWait;
    if (awaits_used_) {
      if (waited < kUnsaid) return;
      return condition_.Set(
          absl::StrCat("HNS does not list the endpoints of ", network,
                       ", so which source VIP kube-proxy uses is not known: one is reserved after ",
                       kLongestWait.count(), " s; if kube-proxy uses another, restart it"),
          now);
    }
    used_ = reserved.ok() && *reserved ? *reserved : hns.used;
    // Of an earlier PodCIDR, if it changed while no flanneld ran.
    if (!used_) used_ = FindSourceVip(spec, /*or_former=*/true).value_or(std::nullopt);
  }
  if (!same || !address_ || !IsSourceVip(spec, *address_)) {
    const absl::StatusOr<IpAddress> reserved = ReserveSourceVip(spec, used_);
    condition_.Set(reserved.status().message(), now);
    if (reserved.ok() && address_ != *reserved) {
      control::LogInfo(absl::StrCat("source VIP ", reserved->ToString(), " is reserved in ", store_,
                                    " for ", network));
    }
    address_ = reserved.ok() ? std::optional(*reserved) : std::nullopt;
  }
  if (address_ && used_ && *address_ != *used_) {
    control::LogWarning(absl::StrCat("the source VIP moves from ", used_->ToString(), " to ",
                                     address_->ToString(),
                                     ": restart kube-proxy, which still uses ", used_->ToString()));
  }
  if (address_) used_ = address_;
  if (address_ && !file_.empty()) WriteFile(subnet, now);
}

void SourceVipKeeper::WriteFile(const IpPrefix& subnet, control::TimePoint now) {
  const std::string text = SourceVipJson(*address_, subnet);
  const absl::StatusOr<std::string> before = control::ReadFileText(file_, kMostFile);
  absl::Status status;
  if (!before.ok() || *before != text) status = control::ReplaceFileText(file_, text);
  file_condition_.Set(
      status.ok() ? ""
                  : absl::StrCat("the file of the source VIP, ", file_, ": ", status.message(),
                                 "; create its folder, or give another path with "
                                 "--source-vip-file"),
      now);
}

}  // namespace weft::cni
