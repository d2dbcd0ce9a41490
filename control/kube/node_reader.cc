// SPDX-License-Identifier: Apache-2.0
#include "control/kube/node_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "control/kube/backend_data.h"
#include "control/kube/json_value.h"
#include "control/lease/quoted.h"

namespace weft::kube {
namespace {

using lease::Quoted;

// An API server takes DNS names (RFC 1123) of at most 253 octets; hand-written files may be freer,
// but not invisible.
bool IsNodeName(std::string_view name) {
  return !name.empty() && name.size() <= 253 && name.front() != '#' &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

// ::ffff:0:0/96, RFC 4291 section 2.5.5.2: an IPv4 address in disguise, which no peer would route
// as IPv6.
bool IsMapped(const IpAddress& address) {
  static const IpPrefix mapped = *IpPrefix::Parse("::ffff:0:0/96");
  return !address.is_v4() && mapped.Contains(address);
}

absl::StatusOr<IpPrefix> ReadPodCidr(simdjson::dom::element value, std::string_view field) {
  const auto text = AsString(value, field);
  if (!text.ok()) return text.status();
  const auto prefix = IpPrefix::Parse(*text);
  if (!prefix || IsMapped(prefix->base())) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " ", Quoted(*text), " is not an address block"));
  }
  return *prefix;
}

std::string Problem(std::string_view field, const absl::Status& status) {
  return absl::StrCat(field, ": ", status.message());
}

}  // namespace

absl::StatusOr<NodeReader> NodeReader::Of(simdjson::dom::element node, const AnnotationKeys& keys,
                                          std::string& name) {
  const auto object = AsObject(node, "the Node");
  if (!object.ok()) return object.status();
  NodeReader reader(keys, *object);

  const auto kind = StringMember(*object, "kind", "kind");
  if (!kind.ok()) return kind.status();
  if (!kind->empty() && *kind != "Node") {
    return absl::InvalidArgumentError(absl::StrCat("kind is ", Quoted(*kind), ", not \"Node\""));
  }
  const auto metadata = ObjectMember(*object, "metadata", "metadata");
  if (!metadata.ok()) return metadata.status();
  if (!*metadata) return absl::InvalidArgumentError("metadata is missing");
  reader.metadata_ = **metadata;

  const auto node_name = StringMember(reader.metadata_, "name", "metadata.name");
  if (!node_name.ok()) return node_name.status();
  if (!IsNodeName(*node_name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata.name ", Quoted(*node_name),
                     " is not a node name: 1 to 253 visible ASCII characters"));
  }
  name = *node_name;
  reader.key_.name = *node_name;
  const auto uid = StringMember(reader.metadata_, "uid", "metadata.uid");
  if (!uid.ok()) return uid.status();
  if (!uid->empty() && !IsNodeName(*uid)) {
    return absl::InvalidArgumentError(absl::StrCat("metadata.uid ", Quoted(*uid), " is not a UID"));
  }
  reader.key_.uid = *uid;

  const auto annotations = ObjectMember(reader.metadata_, "annotations", "metadata.annotations");
  if (!annotations.ok()) return annotations.status();
  if (*annotations) {
    for (const auto [key, value] : **annotations) {
      const auto text = AsString(value, absl::StrCat("annotation ", Quoted(key, 100)));
      if (!text.ok()) return text.status();
      reader.annotations_[key] = *text;
    }
  }
  return reader;
}

absl::StatusOr<lease::Lease> NodeReader::ReadLease() const {
  lease::Lease lease;
  lease.node = key_;
  lease.backend_type = Annotation(keys_->backend_type);
  const auto created = ReadCreated();
  if (!created.ok()) return created.status();
  lease.created = *created;
  const auto cidrs = ReadPodCidrs();
  if (!cidrs.ok()) return cidrs.status();
  if (!cidrs->v4 && !cidrs->v6) {
    return absl::InvalidArgumentError(
        "spec.podCIDR is not assigned: let kube-controller-manager allocate node CIDRs, or set it "
        "by hand");
  }
  if (cidrs->v4) {
    auto half = ReadFamily(*cidrs->v4);
    if (!half.ok()) return half.status();
    lease.v4 = *half;
  }
  if (cidrs->v6) {
    auto half = ReadFamily(*cidrs->v6);
    if (!half.ok()) return half.status();
    lease.v6 = *half;
  }
  return lease;
}

lease::OwnNode NodeReader::ReadOwn() const {
  lease::OwnNode own;
  own.node = key_;
  own.managed = managed();
  own.backend_type = Annotation(keys_->backend_type);
  own.v4 = ReadOwnFamily(IpFamily::kV4, own.problems);
  own.v6 = ReadOwnFamily(IpFamily::kV6, own.problems);
  const auto cidrs = ReadPodCidrs();
  if (cidrs.ok()) {
    own.v4.subnet = cidrs->v4;
    own.v6.subnet = cidrs->v6;
  } else {
    own.problems.emplace_back(cidrs.status().message());
  }
  return own;
}

std::string_view NodeReader::Annotation(const std::string& key) const {
  const auto at = annotations_.find(key);
  return at == annotations_.end() ? std::string_view() : at->second;
}

NodeReader::FamilyKeys NodeReader::KeysOf(IpFamily family) const {
  if (family == IpFamily::kV4) {
    return {keys_->backend_data, keys_->public_ip, keys_->node_public_ip,
            keys_->public_ip_overwrite};
  }
  return {keys_->backend_v6_data, keys_->public_ipv6, keys_->node_public_ipv6,
          keys_->public_ipv6_overwrite};
}

// Upstream's rule: podCIDRs if it has entries, else podCIDR; at most two entries, the first of each
// family counts.
absl::StatusOr<NodeReader::PodCidrs> NodeReader::ReadPodCidrs() const {
  PodCidrs cidrs;
  const auto take = [&cidrs](const IpPrefix& prefix) {
    auto& half = prefix.family() == IpFamily::kV4 ? cidrs.v4 : cidrs.v6;
    if (!half) half = prefix;
  };
  const auto spec = ObjectMember(node_, "spec", "spec");
  if (!spec.ok()) return spec.status();
  if (!*spec) return cidrs;

  if (const auto list = Find(**spec, "podCIDRs")) {
    const auto entries = AsArray(*list, "spec.podCIDRs");
    if (!entries.ok()) return entries.status();
    if (entries->size() > 2) {
      return absl::InvalidArgumentError(absl::StrCat("spec.podCIDRs has ", entries->size(),
                                                     " entries: one for each family is the most"));
    }
    for (const auto entry : *entries) {
      const auto prefix = ReadPodCidr(entry, "spec.podCIDRs entry");
      if (!prefix.ok()) return prefix.status();
      take(*prefix);
    }
    if (entries->size() > 0) return cidrs;
  }
  const auto single = Find(**spec, "podCIDR");
  if (!single || (single->is_string() && single->get_string().value_unsafe().empty())) return cidrs;
  const auto prefix = ReadPodCidr(*single, "spec.podCIDR");
  if (!prefix.ok()) return prefix.status();
  take(*prefix);
  return cidrs;
}

absl::StatusOr<std::int64_t> NodeReader::ReadCreated() const {
  const auto text = StringMember(metadata_, "creationTimestamp", "metadata.creationTimestamp");
  if (!text.ok()) return text.status();
  if (text->empty()) return 0;
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, *text, &time, nullptr) ||
      time == absl::InfiniteFuture() || time == absl::InfinitePast()) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata.creationTimestamp ", Quoted(*text), " is not a time (RFC 3339)"));
  }
  return absl::ToUnixSeconds(time);
}

absl::StatusOr<std::optional<IpAddress>> NodeReader::ReadPublicIp(IpFamily family) const {
  const std::string& key = KeysOf(family).public_ip;
  const std::string_view text = Annotation(key);
  if (text.empty()) return std::nullopt;
  const auto address = IpAddress::Parse(text);
  if (!address || address->family() != family || IsMapped(*address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("annotation ", key, " ", Quoted(text), " is not an ",
                     family == IpFamily::kV4 ? "IPv4" : "IPv6", " address"));
  }
  if (address->IsUnspecified() || address->IsMulticast() || address->IsBroadcast()) {
    return absl::InvalidArgumentError(
        absl::StrCat("annotation ", key, " ", Quoted(text), " is not an address of one host"));
  }
  return *address;
}

absl::StatusOr<lease::FamilyLease> NodeReader::ReadFamily(const IpPrefix& subnet) const {
  lease::FamilyLease half;
  half.subnet = subnet;
  const auto public_ip = ReadPublicIp(subnet.family());
  if (!public_ip.ok()) return public_ip.status();
  half.public_ip = *public_ip;
  // Other backends put other things there; whose lease it is, the table says.
  if (!absl::EqualsIgnoreCase(Annotation(keys_->backend_type), "vxlan")) return half;
  const std::string& key = KeysOf(subnet.family()).data;
  const auto data = DecodeBackendData(Annotation(key));
  if (!data.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("annotation ", key, ": ", data.status().message()));
  }
  half.vni = data->vni;
  half.vtep_mac = data->vtep_mac;
  return half;
}

lease::OwnNodeFamily NodeReader::ReadOwnFamily(IpFamily family,
                                               std::vector<std::string>& problems) const {
  lease::OwnNodeFamily own;
  const FamilyKeys keys = KeysOf(family);
  own.node_public_ip = Annotation(keys.node_public_ip);
  own.public_ip_overwrite = Annotation(keys.overwrite);
  if (const auto public_ip = ReadPublicIp(family); public_ip.ok()) {
    own.published_public_ip = *public_ip;
  } else {
    problems.emplace_back(public_ip.status().message());
  }
  if (!absl::EqualsIgnoreCase(Annotation(keys_->backend_type), "vxlan")) return own;
  if (const auto data = DecodeBackendData(Annotation(keys.data)); data.ok()) {
    own.published_vni = data->vni;
    own.published_vtep_mac = data->vtep_mac;
  } else {
    problems.push_back(Problem(absl::StrCat("annotation ", keys.data), data.status()));
  }
  return own;
}

}  // namespace weft::kube
