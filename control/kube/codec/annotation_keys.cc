// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/annotation_keys.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

// Upstream's [a-z0-9_-]+.
bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

using Keys = AnnotationKeys;
constexpr AnnotationRow kTable[] = {
    {&Keys::subnet_manager, "kube-subnet-manager",
     "published: \"true\"; a Node without it has not joined"},
    {&Keys::backend_type, "backend-type", "published: Backend.Type of net-conf.json"},
    {&Keys::backend_data, "backend-data",
     "published: JSON with the VNI and VtepMAC of the IPv4 tunnel"},
    {&Keys::backend_v6_data, "backend-v6-data", "published: the same of the IPv6 tunnel"},
    {&Keys::public_ip, "public-ip", "published: the IPv4 address that peers send to"},
    {&Keys::public_ipv6, "public-ipv6", "published: the IPv6 address that peers send to"},
    {&Keys::node_public_ip, "node-public-ip",
     "set by an administrator: the IPv4 address to publish, before --public-ip"},
    {&Keys::node_public_ipv6, "node-public-ipv6", "the same for IPv6, before --public-ipv6"},
    {&Keys::public_ip_overwrite, "public-ip-overwrite",
     "set by an administrator: the IPv4 address to publish, before all others"},
    {&Keys::public_ipv6_overwrite, "public-ipv6-overwrite", "the same for IPv6"},
};

}  // namespace

std::span<const AnnotationRow> AnnotationTable() { return kTable; }

absl::StatusOr<AnnotationKeys> AnnotationKeys::Of(std::string_view prefix) {
  std::string full(prefix);
  if (!absl::StrContains(full, '/')) full += '/';
  if (full.back() != '/' && full.back() != '-') full += '-';

  const std::vector<std::string_view> parts = absl::StrSplit(full, '/');
  const std::vector<std::string_view> labels = absl::StrSplit(parts[0], '.');
  const bool domain_ok = labels.size() >= 2 && std::all_of(labels.begin(), labels.end(), IsWord);
  // The word may end in "-", but is not "-" alone.
  const bool word_ok = parts.back().empty() || (parts.back().size() > 1 && IsWord(parts.back()));
  if (parts.size() != 2 || !domain_ok || !word_ok) {
    return absl::InvalidArgumentError(
        absl::StrCat("annotation prefix ", Quoted(prefix),
                     " is not DOMAIN or DOMAIN/WORD in lower case with at least two labels in "
                     "DOMAIN; write one like ",
                     kDefaultAnnotationPrefix));
  }
  return AnnotationKeys(full);
}

AnnotationKeys::AnnotationKeys() : AnnotationKeys(absl::StrCat(kDefaultAnnotationPrefix, "/")) {}

AnnotationKeys::AnnotationKeys(const std::string& full) {
  for (const AnnotationRow& row : kTable) this->*row.key = absl::StrCat(full, row.name);
}

}  // namespace weft::kube
