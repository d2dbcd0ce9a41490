// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/node_reader.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/kube/codec/backend_data.h"
#include "vxlan/text/printable.h"

namespace weft::kube {

struct NodeReader::Half {
  std::string_view data;
  std::string_view public_ip;
  std::string_view node_public_ip;
  std::string_view overwrite;
  const std::string& data_key;
  const std::string& public_ip_key;
};

namespace {

// Whether one of eight bytes is a space, a control byte or outside ASCII. Such a byte sets its own
// highest bit in one of the three terms; a byte before it that is none of these does not.
bool HasHidden(const char* eight) {
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  std::uint64_t word;
  std::memcpy(&word, eight, sizeof word);
  return (((word - kOnes * '!') | (word + kOnes) | word) & kOnes << 7) != 0;
}

// An API server accepts DNS names (RFC 1123) of at most 253 bytes; hand-written files may have
// other names, but only of visible characters.
bool IsNodeName(std::string_view name) {
  if (name.empty() || name.size() > 253 || name.front() == '#') return false;
  if (name.size() < 8) {
    return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  }
  for (std::size_t i = 0; i + 8 <= name.size(); i += 8)
    if (HasHidden(name.data() + i)) return false;
  return !HasHidden(name.data() + name.size() - 8);
}

// ::ffff:0:0/96, RFC 4291 section 2.5.5.2: an IPv4-mapped address, which no peer would route as
// IPv6.
bool IsMapped(const IpAddress& address) {
  static const IpPrefix kMapped = *IpPrefix::Parse("::ffff:0:0/96");
  return kMapped.Contains(address);
}

absl::StatusOr<IpPrefix> ReadPodCidr(std::string_view text, std::string_view field) {
  const auto prefix = IpPrefix::Parse(text);
  if (!prefix || IsMapped(prefix->base())) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " ", Quoted(text), " is not an address block"));
  }
  return *prefix;
}

bool IsManaged(const NodeFields& fields) { return fields.subnet_manager == "true"; }

// The reason why a Node is not managed.
std::string Missing(const NodeFields& fields, const AnnotationKeys& keys) {
  return fields.subnet_manager.empty()
             ? absl::StrCat("annotation ", keys.subnet_manager,
                            " is missing: no flanneld has published a lease on this Node, or its "
                            "annotations were removed; check its flanneld")
             : absl::StrCat("annotation ", keys.subnet_manager, " is ",
                            Quoted(fields.subnet_manager), ", not \"true\"");
}

bool IsVxlan(const NodeFields& fields) {
  return absl::EqualsIgnoreCase(fields.backend_type, "vxlan");
}

bool HasAddress(const NodeFields& fields, const IpAddress& address, bool internal_only) {
  const auto* const begin = fields.addresses.data();
  return std::any_of(begin, begin + fields.address_count, [&](const NodeFields::Address& each) {
    return (each.internal || !internal_only) && IpAddress::Parse(each.text) == address;
  });
}

absl::StatusOr<BackendData> ReadBackendData(std::string_view text, std::string_view key) {
  auto data = DecodeBackendData(text);
  if (data.ok()) return data;
  return absl::InvalidArgumentError(
      absl::StrCat("annotation ", key, ": ", data.status().message()));
}

}  // namespace

NodeReader::NodeReader(AnnotationKeys keys, std::string own_node_name)
    : keys_(std::move(keys)), own_node_name_(std::move(own_node_name)) {}

void NodeReader::Read(const NodeFields& fields, DecodedNode& node) const {
  using Kind = DecodedNode::Kind;
  node.own.reset();
  node.refusal.clear();
  node.lease.unread.reset();
  absl::Status status = ReadName(fields, node.lease.node);
  const bool ours = !own_node_name_.empty() && node.lease.node.name == own_node_name_;
  if (status.ok()) {
    if (ours) node.own = ReadOwn(fields, node.lease.node);
    if (!IsManaged(fields)) {
      node.kind = Kind::kNotManaged;
      node.refusal = Missing(fields, keys_);
      return;
    }
    status = ReadLease(fields, node.lease);
  } else if (ours) {
    node.own.emplace();
    node.own->node.name = own_node_name_;
    node.own->problems.emplace_back(status.message());
  }
  const auto& unread = node.lease.unread;
  node.kind = status.ok() || unread ? Kind::kLease : Kind::kRefused;
  if (!status.ok()) node.refusal = status.message();
  if (unread)
    node.refusal += unread == IpFamily::kV4 ? "; the IPv6 half is used" : "; the IPv4 half is used";
}

// Sets `key.name` whenever the Node has a printable name.
absl::Status NodeReader::ReadName(const NodeFields& fields, lease::NodeKey& key) const {
  key.name.clear();
  key.uid.clear();
  if (!fields.kind.empty() && fields.kind != "Node") {
    return absl::InvalidArgumentError(
        absl::StrCat("kind is ", Quoted(fields.kind), ", not \"Node\""));
  }
  const bool named = IsNodeName(fields.name);
  if (named) key.name = fields.name;
  const bool has_uid = IsNodeName(fields.uid);
  if (named && has_uid) key.uid = fields.uid;
  if (!fields.problem.empty()) return absl::InvalidArgumentError(fields.problem);
  if (!named) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata.name ", Quoted(fields.name),
                     " is not a node name: 1 to 253 visible ASCII characters"));
  }
  if (!fields.uid.empty() && !has_uid) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata.uid ", Quoted(fields.uid), " is not a UID"));
  }
  return absl::OkStatus();
}

absl::Status NodeReader::ReadLease(const NodeFields& fields, lease::Lease& lease) const {
  lease.backend_type = fields.backend_type;
  lease.v4.reset();
  lease.v6.reset();
  if (!fields.created_problem.empty()) return absl::InvalidArgumentError(fields.created_problem);
  lease.created = fields.created;
  lease.readiness.reset();
  if (!fields.ready.empty()) lease.readiness = {fields.ready == "True", fields.ready_since};
  const auto cidrs = ReadPodCidrs(fields);
  if (!cidrs.ok()) return cidrs.status();
  if (!cidrs->v4 && !cidrs->v6) {
    return absl::InvalidArgumentError(
        "spec.podCIDR is not assigned: let kube-controller-manager allocate node CIDRs, or set it "
        "by hand");
  }
  const auto v4 = cidrs->v4 ? ReadFamily(fields, *cidrs->v4, lease.v4) : absl::OkStatus();
  const auto v6 = cidrs->v6 ? ReadFamily(fields, *cidrs->v6, lease.v6) : absl::OkStatus();
  if (lease.v4 && !v6.ok()) lease.unread = IpFamily::kV6;
  if (lease.v6 && !v4.ok()) lease.unread = IpFamily::kV4;
  return v4.ok() ? v6 : v4;
}

lease::OwnNode NodeReader::ReadOwn(const NodeFields& fields, const lease::NodeKey& key) const {
  lease::OwnNode own;
  own.node = key;
  own.managed = IsManaged(fields);
  own.backend_type = fields.backend_type;
  own.v4 = ReadOwnFamily(fields, IpFamily::kV4, own.problems);
  own.v6 = ReadOwnFamily(fields, IpFamily::kV6, own.problems);
  const auto cidrs = ReadPodCidrs(fields);
  if (cidrs.ok()) {
    own.v4.subnet = cidrs->v4;
    own.v6.subnet = cidrs->v6;
  } else {
    own.problems.emplace_back(cidrs.status().message());
  }
  for (std::size_t i = 0; i < fields.address_count; ++i) {
    if (!fields.addresses[i].internal) continue;
    if (const auto address = IpAddress::Parse(fields.addresses[i].text))
      own.internal_ips.push_back(*address);
  }
  return own;
}

NodeReader::Half NodeReader::HalfOf(const NodeFields& fields, IpFamily family) const {
  if (family == IpFamily::kV4) {
    return {fields.backend_data,        fields.public_ip,   fields.node_public_ip,
            fields.public_ip_overwrite, keys_.backend_data, keys_.public_ip};
  }
  return {fields.backend_v6_data,       fields.public_ipv6,    fields.node_public_ipv6,
          fields.public_ipv6_overwrite, keys_.backend_v6_data, keys_.public_ipv6};
}

// Upstream's rule: podCIDRs if it has entries, else podCIDR; at most two entries, the first of each
// family counts.
absl::StatusOr<NodeReader::PodCidrs> NodeReader::ReadPodCidrs(const NodeFields& fields) {
  if (fields.pod_cidr_count > fields.pod_cidrs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("spec.podCIDRs has ", fields.pod_cidr_count,
                                                   " entries: one for each family is the most"));
  }
  if (!fields.pod_cidr_problem.empty()) return absl::InvalidArgumentError(fields.pod_cidr_problem);
  PodCidrs cidrs;
  const auto take = [&cidrs](std::string_view text, std::string_view field) -> absl::Status {
    const auto prefix = ReadPodCidr(text, field);
    if (!prefix.ok()) return prefix.status();
    auto& half = prefix->family() == IpFamily::kV4 ? cidrs.v4 : cidrs.v6;
    if (!half) half = *prefix;
    return absl::OkStatus();
  };
  for (std::size_t i = 0; i < fields.pod_cidr_count; ++i) {
    const auto status = take(fields.pod_cidrs[i], "spec.podCIDRs entry");
    if (!status.ok()) return status;
  }
  if (fields.pod_cidr_count > 0 || fields.pod_cidr.empty()) return cidrs;
  const auto status = take(fields.pod_cidr, "spec.podCIDR");
  if (!status.ok()) return status;
  return cidrs;
}

absl::StatusOr<std::optional<IpAddress>> NodeReader::ReadPublicIp(const Half& half,
                                                                  IpFamily family) {
  if (half.public_ip.empty()) return std::nullopt;
  const auto address = IpAddress::Parse(half.public_ip);
  if (!address || address->family() != family || IsMapped(*address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("annotation ", half.public_ip_key, " ", Quoted(half.public_ip), " is not an ",
                     family == IpFamily::kV4 ? "IPv4" : "IPv6", " address"));
  }
  if (address->IsUnspecified() || address->IsMulticast() || address->IsBroadcast()) {
    return absl::InvalidArgumentError(absl::StrCat("annotation ", half.public_ip_key, " ",
                                                   Quoted(half.public_ip),
                                                   " is not an address of one host"));
  }
  return *address;
}

absl::Status NodeReader::ReadFamily(const NodeFields& fields, const IpPrefix& subnet,
                                    std::optional<lease::FamilyLease>& into) const {
  const Half half = HalfOf(fields, subnet.family());
  const auto public_ip = ReadPublicIp(half, subnet.family());
  if (!public_ip.ok()) return public_ip.status();
  // Other backends have other data there; the lease table refuses a foreign backend.
  absl::StatusOr<BackendData> data = BackendData();
  if (IsVxlan(fields)) data = ReadBackendData(half.data, half.data_key);
  if (!data.ok()) return data.status();
  lease::FamilyLease& lease = into.emplace();
  lease.subnet = subnet;
  lease.public_ip = *public_ip;
  lease.behind_nat = !(half.overwrite.empty() && half.node_public_ip.empty()) && *public_ip &&
                     !HasAddress(fields, **public_ip, /*internal_only=*/true);
  lease.node_address = *public_ip && HasAddress(fields, **public_ip, /*internal_only=*/false);
  lease.vni = data->vni;
  lease.vtep_mac = data->vtep_mac;
  return absl::OkStatus();
}

lease::OwnNodeFamily NodeReader::ReadOwnFamily(const NodeFields& fields, IpFamily family,
                                               std::vector<std::string>& problems) const {
  lease::OwnNodeFamily own;
  const Half half = HalfOf(fields, family);
  own.backend_data = half.data;
  own.public_ip = half.public_ip;
  own.node_public_ip = half.node_public_ip;
  own.public_ip_overwrite = half.overwrite;
  if (const auto public_ip = ReadPublicIp(half, family); public_ip.ok()) {
    own.published_public_ip = *public_ip;
  } else {
    problems.emplace_back(public_ip.status().message());
  }
  if (!IsVxlan(fields)) return own;
  if (const auto data = ReadBackendData(half.data, half.data_key); data.ok()) {
    own.published_vni = data->vni;
    own.published_vtep_mac = data->vtep_mac;
  } else {
    problems.emplace_back(data.status().message());
  }
  return own;
}

}  // namespace weft::kube
