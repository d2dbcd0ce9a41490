// SPDX-License-Identifier: Apache-2.0
#include "control/journal/journal.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/json_fields.h"
#include "control/own_files.h"
#include "control/state_version.h"
#include "nlohmann/json.hpp"
#include "vxlan/text/printable.h"

// The descriptions are found by argument-dependent lookup, so each is in its struct's own
// namespace.
namespace weft::lease {

// Not empty.
void Text(auto& visit, const char* name, control::Is<std::string> auto& text) {
  visit.Required(name, text);
  if constexpr (control::kReads<decltype(visit)>)
    if (text.empty()) visit.Refuse(name, "is missing");
}

void NodeMac(auto& visit, control::Is<std::optional<MacAddress>> auto& mac) {
  visit.Optional("vtepMAC", mac);
  if constexpr (control::kReads<decltype(visit)>) {
    if (mac && (mac->IsZero() || mac->IsGroup()))
      visit.Refuse("vtepMAC", "is no address of a node");
  }
}

void CheckFamily(auto& visit, IpFamily family, const std::optional<IpPrefix>& subnet,
                 const std::optional<IpAddress>& public_ip) {
  if ((subnet && subnet->family() != family) || (public_ip && public_ip->family() != family))
    visit.Refuse(family == IpFamily::kV4 ? "ipv4" : "ipv6", "is of the other address family");
}

void Fields(auto& visit, control::Is<NodeKey> auto& node) {
  Text(visit, "node", node.name);
  visit.Optional("uid", node.uid);
}

void Fields(auto& visit, control::Is<FamilyLease> auto& half) {
  visit.Required("subnet", half.subnet);
  visit.Optional("publicIP", half.public_ip);
  visit.Optional("vni", half.vni);
  NodeMac(visit, half.vtep_mac);
  visit.Optional("keptSince", half.kept_since);
  visit.Optional("behindNAT", half.behind_nat);
  visit.Optional("nodeAddress", half.node_address);
}

void Fields(auto& visit, control::Is<Lease> auto& lease) {
  Fields(visit, lease.node);
  visit.Optional("backend", lease.backend_type);
  visit.Optional("ipv4", lease.v4);
  visit.Optional("ipv6", lease.v6);
  if constexpr (control::kReads<decltype(visit)>) {
    if (lease.v4) CheckFamily(visit, IpFamily::kV4, lease.v4->subnet, lease.v4->public_ip);
    if (lease.v6) CheckFamily(visit, IpFamily::kV6, lease.v6->subnet, lease.v6->public_ip);
  }
}

void Fields(auto& visit, control::Is<OwnNodeFamily> auto& half) {
  visit.Optional("subnet", half.subnet);
  visit.Optional("publicIP", half.published_public_ip);
  visit.Optional("vni", half.published_vni);
  NodeMac(visit, half.published_vtep_mac);
  visit.Optional("nodePublicIP", half.node_public_ip);
  visit.Optional("publicIPOverwrite", half.public_ip_overwrite);
}

void Fields(auto& visit, control::Is<OwnNode> auto& own) {
  Fields(visit, own.node);
  visit.Optional("backend", own.backend_type);
  visit.Optional("ipv4", own.v4);
  visit.Optional("ipv6", own.v6);
  if constexpr (control::kReads<decltype(visit)>) {
    own.managed = true;
    CheckFamily(visit, IpFamily::kV4, own.v4.subnet, own.v4.published_public_ip);
    CheckFamily(visit, IpFamily::kV6, own.v6.subnet, own.v6.published_public_ip);
  }
}

}  // namespace weft::lease

namespace weft::journal {

using control::Json;

// What version 1 was called before it had a number.
constexpr std::string_view kFormat = "weft/journal/v1";
constexpr std::size_t kPiece = std::size_t{64} << 10;

void Fields(auto& visit, control::Is<Header> auto& header) {
  std::int64_t version = control::kStateVersion;
  std::string format(kFormat);
  visit.Always("version", version);
  visit.Always("apiVersion", format);
  visit.Always("saved", header.saved);
  auto& scope = header.scope;
  visit.Optional("boot", scope.boot);
  visit.Optional("node", scope.node);
  visit.Optional("pod", scope.pod);
  lease::Text(visit, "source", scope.source);
  lease::Text(visit, "netConf", scope.net_conf);
  std::vector<std::string> cluster(scope.cluster.begin(), scope.cluster.end());
  visit.Optional("cluster", cluster);
  if constexpr (control::kReads<decltype(visit)>)
    scope.cluster = std::set<std::string>(cluster.begin(), cluster.end());
  visit.Required("own", header.own);
  visit.Optional("leases", header.leases);
}

namespace {

void AppendLine(std::string& text, const Json& json) {
  text += json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text += '\n';
}

absl::Status OfLine(std::size_t line, std::string_view why) {
  return absl::DataLossError(absl::StrCat("line ", line, ": ", why));
}

std::string FamilyText(std::string_view name, const std::optional<IpPrefix>& network) {
  return network ? absl::StrCat(name, " ", network->ToString(), ", ") : std::string();
}

}  // namespace

std::string NetConfText(const control::NetConf& conf) {
  std::string text = absl::StrCat(FamilyText("Network", conf.network),
                                  FamilyText("IPv6Network", conf.ipv6_network), "Backend ",
                                  control::Name(conf.type));
  if (conf.type == control::BackendType::kVxlan)
    absl::StrAppend(&text, ", VNI ", conf.vni.value(), ", port ", conf.port);
  return text;
}

void Write(const Header& header, std::optional<ForEachLease> leases, control::TextSink append) {
  Header first = header;
  first.leases.reset();
  if (leases) {
    first.leases = 0;
    (*leases)([&first](const lease::Lease&) { ++*first.leases; });
  }
  std::string piece;
  AppendLine(piece, control::JsonWriter::Encode(first));
  const auto add = [&](const lease::Lease& lease) {
    AppendLine(piece, control::JsonWriter::Encode(lease));
    if (piece.size() < kPiece) return;
    append(piece);
    piece.clear();
  };
  if (leases) (*leases)(add);
  append(piece);
}

absl::StatusOr<Header> Read(std::istream& text, std::optional<Visit> visit) {
  std::optional<Header> header;
  std::int64_t found = 0;
  std::size_t number = 1;
  for (std::string line; std::getline(text, line); ++number) {
    if (text.eof()) return OfLine(number, "it is cut off");
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return OfLine(number, "it is no JSON object");
    control::JsonReader reader(json, "");
    if (!header) {
      if (!json.contains("version") && json.value("apiVersion", Json()) != kFormat)
        return OfLine(1, "it is no journal of weft");
      Fields(reader, header.emplace());
      if (reader.status().ok() && (!visit || !header->leases)) return *header;
    } else {
      lease::Lease lease;
      Fields(reader, lease);
      if (reader.status().ok()) (*visit)(lease);
      ++found;
    }
    if (!reader.status().ok()) return OfLine(number, reader.status().message());
  }
  if (text.bad()) return absl::UnavailableError("it cannot be read");
  if (!header) return absl::DataLossError("it is empty");
  if (found == header->leases) return *header;
  return absl::DataLossError(
      absl::StrCat("it has ", found, " leases instead of ", *header->leases));
}

std::string Difference(const Scope& state, const Scope& desired) {
  if (desired.boot.empty()) return "which boot this is cannot be read";
  if (state.boot != desired.boot) return "it is of another boot";
  if (!desired.node.empty() && state.node != desired.node)
    return absl::StrCat("it is of node ", Quoted(state.node), ", not ", Quoted(desired.node));
  if (desired.node.empty() && (desired.pod.empty() || state.pod != desired.pod))
    return "this node's name is not known yet, and it is of another pod";
  if (state.source != desired.source)
    return absl::StrCat("its leases are of ", Quoted(state.source), ", not of ",
                        Quoted(desired.source));
  const auto known = [&state](const std::string& key) { return state.cluster.contains(key); };
  if (!state.cluster.empty() && !desired.cluster.empty() &&
      std::none_of(desired.cluster.begin(), desired.cluster.end(), known))
    return "it is of another cluster: none of its CAs' keys is of the CAs that are given now";
  if (state.net_conf != desired.net_conf)
    return absl::StrCat("it is of another net-conf: ", Quoted(state.net_conf, 200), ", now ",
                        desired.net_conf);
  return "";
}

// ---- the file

Journal::Journal(const std::string& folder)
    : folder_(folder), path_(absl::StrCat(folder, "/journal.json")) {}

absl::StatusOr<std::optional<Header>> Journal::Load(std::optional<Visit> visit) const {
  const auto refused = [this](const absl::Status& why) {
    return absl::Status(why.code(),
                        absl::StrCat("the journal ", path_, " is not used: ", why.message(),
                                     "; it is replaced once the source of leases answers"));
  };
  // Before it is opened: opening a FIFO would wait for its writer.
  std::error_code error;
  const std::filesystem::path path = control::PathOf(path_);
  const auto found = std::filesystem::symlink_status(path, error);
  if (found.type() == std::filesystem::file_type::not_found) return std::nullopt;
  if (found.type() == std::filesystem::file_type::none)
    return refused(absl::UnavailableError("it cannot be inspected: " + error.message()));
  if (!std::filesystem::is_regular_file(found))
    return refused(absl::DataLossError("it is no regular file"));
  for (const std::string& each : {folder_, path_}) {
    if (const absl::Status own = control::CheckOwn(each); !own.ok()) return refused(own);
  }
  if (absl::Status known = control::CheckStateFile(path_); !known.ok()) return known;
  if (const auto size = std::filesystem::file_size(path, error); !error && size > kMostText)
    return refused(absl::ResourceExhaustedError("it is too large"));
  std::ifstream file(path, std::ios::binary);
  if (!file) return refused(absl::NotFoundError("it cannot be opened"));
  absl::StatusOr<Header> header = Read(file, visit);
  if (!header.ok()) return refused(header.status());
  return *std::move(header);
}

absl::Status Journal::Save(const Header& header, std::optional<ForEachLease> leases) const {
  const auto failed = [this](const absl::Status& why) {
    return absl::Status(
        why.code(),
        absl::StrCat("the journal ", path_, ": ", why.message(),
                     "; a restart without the source of leases would start without peers; ",
                     control::StepToWrite(why, "--state-dir")));
  };
  if (header.scope.boot.empty()) return absl::OkStatus();  // no start could use it
  if (const auto made = control::MakeOwnFolder(folder_); !made.ok()) return failed(made.status());
  if (const auto aside = control::SetForeignAside(path_); !aside.ok())
    return failed(aside.status());
  // Also one that was put there while this process ran.
  if (absl::Status known = control::CheckStateFile(path_); !known.ok()) return known;
  const absl::Status written = control::ReplaceFileText(path_, [&](control::TextSink append) {
    std::size_t size = 0;
    Write(header, leases, [&](std::string_view piece) {
      size += piece.size();
      if (size <= kMostText) append(piece);
    });
    return size <= kMostText ? absl::OkStatus()
                             : absl::ResourceExhaustedError("the leases exceed its 64 MiB");
  });
  return written.ok() ? written : failed(written);
}

}  // namespace weft::journal
