// SPDX-License-Identifier: Apache-2.0
#include "control/journal/journal.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/own_files.h"
#include "control/state_version.h"
#include "nlohmann/json.hpp"
#include "vxlan/text/printable.h"

namespace weft::journal {
namespace {

using Json = nlohmann::ordered_json;

// What version 1 was called before it had a number.
constexpr std::string_view kFormat = "weft/journal/v1";
constexpr std::size_t kPiece = std::size_t{64} << 10;

// ---- writing

template <typename T>
void Set(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = value->ToString();
}

void Set(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

Json ToJson(const lease::FamilyLease& half) {
  Json json = {{"subnet", half.subnet.ToString()}};
  Set(json, "publicIP", half.public_ip);
  if (half.vni) json["vni"] = *half.vni;
  Set(json, "vtepMAC", half.vtep_mac);
  if (half.kept_since) json["keptSince"] = *half.kept_since;
  if (half.behind_nat) json["behindNAT"] = true;
  if (half.node_address) json["nodeAddress"] = true;
  return json;
}

Json ToJson(const lease::OwnNodeFamily& half) {
  Json json = Json::object();
  Set(json, "subnet", half.subnet);
  Set(json, "publicIP", half.published_public_ip);
  if (half.published_vni) json["vni"] = *half.published_vni;
  Set(json, "vtepMAC", half.published_vtep_mac);
  Set(json, "nodePublicIP", half.node_public_ip);
  Set(json, "publicIPOverwrite", half.public_ip_overwrite);
  return json;
}

Json ToJson(const lease::NodeKey& node) {
  Json json = {{"node", node.name}};
  Set(json, "uid", node.uid);
  return json;
}

void AppendLine(std::string& text, const Json& json) {
  text += json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text += '\n';
}

// ---- reading

// The first error of a line.
class Reader {
 public:
  Reader(const Json& json, std::string& error) : json_(json), error_(error) {}

  // Null where it is absent.
  const Json* Find(const char* key) const {
    const auto at = json_.find(key);
    return at == json_.end() ? nullptr : &*at;
  }
  std::string String(const char* key) const {
    const Json* const value = Find(key);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    Refuse(key, "is no text");
    return {};
  }
  std::string Required(const char* key) const {
    std::string text = String(key);
    if (text.empty()) Refuse(key, "is missing");
    return text;
  }
  template <typename T>
  std::optional<T> Parsed(const char* key) const {
    const std::string text = String(key);
    if (text.empty()) return std::nullopt;
    std::optional<T> value = T::Parse(text);
    if (!value) Refuse(key, absl::StrCat(Quoted(text), " is not valid"));
    return value;
  }
  template <typename T>
  std::optional<T> Of(IpFamily family, const char* key) const {
    std::optional<T> value = Parsed<T>(key);
    if (value && value->family() != family) Refuse(key, "is of the other address family");
    return value;
  }
  // Zero to `most`.
  std::optional<std::int64_t> Number(const char* key, std::int64_t most) const {
    const Json* const value = Find(key);
    if (value == nullptr) return std::nullopt;
    const bool fits = value->is_number_unsigned() &&
                      value->get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
    if (fits) return value->get<std::int64_t>();
    Refuse(key, "is no such number");
    return std::nullopt;
  }
  // False where it is absent.
  bool Bool(const char* key) const {
    const Json* const value = Find(key);
    if (value == nullptr) return false;
    if (value->is_boolean()) return value->get<bool>();
    Refuse(key, "is neither true nor false");
    return false;
  }
  std::optional<MacAddress> Mac(const char* key) const {
    const auto mac = Parsed<MacAddress>(key);
    if (mac && (mac->IsZero() || mac->IsGroup())) Refuse(key, "is no address of a node");
    return mac;
  }
  void Refuse(std::string_view key, std::string_view why) const {
    if (error_.empty()) error_ = absl::StrCat("\"", key, "\" ", why);
  }
  std::string& error() const { return error_; }

 private:
  const Json& json_;
  std::string& error_;
};

constexpr std::int64_t kAnyNumber = std::numeric_limits<std::int64_t>::max();

std::optional<std::uint32_t> ReadVni(const Reader& reader) {
  const auto vni = reader.Number("vni", std::numeric_limits<std::uint32_t>::max());
  return vni ? std::optional(static_cast<std::uint32_t>(*vni)) : std::nullopt;
}

lease::NodeKey ReadNode(const Reader& reader) {
  return {reader.Required("node"), reader.String("uid")};
}

std::optional<lease::FamilyLease> ReadLease(const Reader& reader, IpFamily family) {
  const auto subnet = reader.Of<IpPrefix>(family, "subnet");
  if (!subnet) {
    reader.Refuse("subnet", "is missing");
    return std::nullopt;
  }
  lease::FamilyLease half;
  half.subnet = *subnet;
  half.public_ip = reader.Of<IpAddress>(family, "publicIP");
  half.vni = ReadVni(reader);
  half.vtep_mac = reader.Mac("vtepMAC");
  half.kept_since = reader.Number("keptSince", kAnyNumber);
  half.behind_nat = reader.Bool("behindNAT");
  half.node_address = reader.Bool("nodeAddress");
  return half;
}

lease::OwnNodeFamily ReadOwn(const Reader& reader, IpFamily family) {
  lease::OwnNodeFamily half;
  half.subnet = reader.Of<IpPrefix>(family, "subnet");
  half.published_public_ip = reader.Of<IpAddress>(family, "publicIP");
  half.published_vni = ReadVni(reader);
  half.published_vtep_mac = reader.Mac("vtepMAC");
  half.node_public_ip = reader.String("nodePublicIP");
  half.public_ip_overwrite = reader.String("publicIPOverwrite");
  return half;
}

// Calls `use` with the object `key`, if there is one.
template <typename Use>
void WithHalf(const Reader& reader, const char* key, const Use& use) {
  const Json* const json = reader.Find(key);
  if (json == nullptr) return;
  if (!json->is_object()) return reader.Refuse(key, "is no object");
  use(Reader(*json, reader.error()));
}

lease::Lease ReadLease(const Reader& reader) {
  lease::Lease lease;
  lease.node = ReadNode(reader);
  lease.backend_type = reader.String("backend");
  WithHalf(reader, "ipv4", [&](const Reader& half) { lease.v4 = ReadLease(half, IpFamily::kV4); });
  WithHalf(reader, "ipv6", [&](const Reader& half) { lease.v6 = ReadLease(half, IpFamily::kV6); });
  return lease;
}

absl::Status OfLine(std::size_t line, std::string_view why) {
  return absl::DataLossError(absl::StrCat("line ", line, ": ", why));
}

std::set<std::string> ReadTexts(const Reader& reader, const char* key) {
  std::set<std::string> texts;
  const Json* const list = reader.Find(key);
  if (list == nullptr) return texts;
  if (!list->is_array()) reader.Refuse(key, "is no list");
  for (const Json& each : *list) {
    if (each.is_string())
      texts.insert(each.get<std::string>());
    else
      reader.Refuse(key, "is no list of texts");
  }
  return texts;
}

Header ReadHeader(const Reader& reader) {
  Header header;
  header.scope = {reader.Required("boot"),    reader.String("node"),
                  reader.String("pod"),       reader.Required("source"),
                  reader.Required("netConf"), ReadTexts(reader, "cluster")};
  header.saved = reader.Number("saved", kAnyNumber).value_or(0);
  header.own.managed = true;
  WithHalf(reader, "own", [&](const Reader& own) {
    header.own.node = ReadNode(own);
    header.own.backend_type = own.String("backend");
    WithHalf(own, "ipv4",
             [&](const Reader& half) { header.own.v4 = ReadOwn(half, IpFamily::kV4); });
    WithHalf(own, "ipv6",
             [&](const Reader& half) { header.own.v6 = ReadOwn(half, IpFamily::kV6); });
  });
  if (header.own.node.name.empty()) reader.Refuse("own", "is missing");
  header.leases = reader.Number("leases", kAnyNumber);
  return header;
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
  std::int64_t count = 0;
  if (leases) (*leases)([&count](const lease::Lease&) { ++count; });
  Json own = ToJson(header.own.node);
  Set(own, "backend", header.own.backend_type);
  if (header.own.v4 != lease::OwnNodeFamily()) own["ipv4"] = ToJson(header.own.v4);
  if (header.own.v6 != lease::OwnNodeFamily()) own["ipv6"] = ToJson(header.own.v6);
  Json first = {{"version", control::kStateVersion},
                {"apiVersion", kFormat},
                {"saved", header.saved},
                {"boot", header.scope.boot}};
  Set(first, "node", header.scope.node);
  Set(first, "pod", header.scope.pod);
  first["source"] = header.scope.source;
  first["netConf"] = header.scope.net_conf;
  if (!header.scope.cluster.empty()) first["cluster"] = header.scope.cluster;
  first["own"] = std::move(own);
  if (leases) first["leases"] = count;
  std::string piece;
  AppendLine(piece, first);
  const auto add = [&](const lease::Lease& lease) {
    Json line = ToJson(lease.node);
    Set(line, "backend", lease.backend_type);
    if (lease.v4) line["ipv4"] = ToJson(*lease.v4);
    if (lease.v6) line["ipv6"] = ToJson(*lease.v6);
    AppendLine(piece, line);
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
    std::string error;
    const Reader reader(json, error);
    if (!header) {
      if (absl::Status known = control::CheckStateVersion("it", json); !known.ok()) return known;
      if (!reader.Number("version", kAnyNumber) && reader.String("apiVersion") != kFormat)
        return OfLine(1, "it is no journal of weft");
      header = ReadHeader(reader);
      if (error.empty() && (!visit || !header->leases)) return *header;
    } else if (const lease::Lease lease = ReadLease(reader); error.empty()) {
      (*visit)(lease);
      ++found;
    }
    if (!error.empty()) return OfLine(number, error);
  }
  if (text.bad()) return absl::UnavailableError("it cannot be read");
  if (!header) return absl::DataLossError("it is empty");
  if (found == header->leases) return *header;
  return absl::DataLossError(
      absl::StrCat("it has ", found, " leases instead of ", *header->leases));
}

std::string Difference(const Scope& state, const Scope& desired) {
  if (desired.boot.empty() || state.boot != desired.boot) return "it is of another boot";
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
    return absl::Status(
        why.code(),
        absl::StrCat("the journal ", path_, " is not used: ", why.message(),
                     absl::IsUnimplemented(why)
                         ? ""
                         : "; it is replaced once the source of leases answers"));
  };
  // Before it is opened: opening a FIFO would wait for its writer.
  std::error_code error;
  const std::filesystem::path path = control::PathOf(path_);
  const auto found = std::filesystem::symlink_status(path, error);
  if (found.type() == std::filesystem::file_type::not_found) return std::nullopt;
  if (!std::filesystem::is_regular_file(found))
    return refused(absl::DataLossError("it is no regular file"));
  for (const std::string& each : {folder_, path_}) {
    if (const absl::Status own = control::CheckOwn(each); !own.ok()) return refused(own);
  }
  if (std::filesystem::file_size(path, error) > kMostText)
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
  // Also one that was put there while this process ran.
  if (absl::Status found = Load().status(); absl::IsUnimplemented(found)) return found;
  if (const auto made = control::MakeOwnFolder(folder_); !made.ok()) return failed(made.status());
  if (const auto aside = control::SetForeignAside(path_); !aside.ok())
    return failed(aside.status());
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
