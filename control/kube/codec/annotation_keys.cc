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

}  // namespace

absl::StatusOr<AnnotationKeys> AnnotationKeys::Of(std::string_view prefix) {
  std::string full(prefix);
  if (!absl::StrContains(full, '/')) full += '/';
  if (full.back() != '/' && full.back() != '-') full += '-';

  const std::vector<std::string_view> parts = absl::StrSplit(full, '/');
  const std::vector<std::string_view> labels = absl::StrSplit(parts[0], '.');
  const bool domain_ok = labels.size() >= 2 && std::all_of(labels.begin(), labels.end(), IsWord);
  // The word keeps its final "-", and is more than that.
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

AnnotationKeys::AnnotationKeys(const std::string& full)
    : subnet_manager(full + "kube-subnet-manager"),
      backend_type(full + "backend-type"),
      backend_data(full + "backend-data"),
      backend_v6_data(full + "backend-v6-data"),
      public_ip(full + "public-ip"),
      public_ipv6(full + "public-ipv6"),
      node_public_ip(full + "node-public-ip"),
      node_public_ipv6(full + "node-public-ipv6"),
      public_ip_overwrite(full + "public-ip-overwrite"),
      public_ipv6_overwrite(full + "public-ipv6-overwrite") {}

}  // namespace weft::kube
