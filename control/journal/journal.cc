// SPDX-License-Identifier: Apache-2.0
#include "control/journal/journal.h"

#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/own_files.h"
#include "nlohmann/json.hpp"
#include "vxlan/text/printable.h"

namespace weft::journal {
namespace {

using Json = nlohmann::ordered_json;

// Another version has another name.
constexpr std::string_view kFormat = "weft/journal/v1";
constexpr std::string_view kFormats = "weft/journal/";

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

// Calls `read` with the object `key`, if there is one.
template <typename Read>
void WithHalf(const Reader& reader, const char* key, const Read& read) {
  const Json* const json = reader.Find(key);
  if (json == nullptr) return;
  if (!json->is_object()) return reader.Refuse(key, "is no object");
  read(Reader(*json, reader.error()));
}

lease::Lease ReadLease(const Reader& reader) {
  lease::Lease lease;
  lease.node = ReadNode(reader);
  lease.backend_type = reader.String("backend");
  WithHalf(reader, "ipv4", [&](const Reader& half) { lease.v4 = ReadLease(half, IpFamily::kV4); });
  WithHalf(reader, "ipv6", [&](const Reader& half) { lease.v6 = ReadLease(half, IpFamily::kV6); });
  return lease;
}

// Returns the number of leases that follow.
std::int64_t ReadHeader(const Reader& reader, Header& header) {
  header.scope = {reader.Required("boot"), reader.String("node"), reader.String("pod"),
                  reader.Required("source"), reader.Required("netConf")};
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
  const auto leases = reader.Number("leases", kAnyNumber);
  if (!leases) reader.Refuse("leases", "is missing");
  return leases.value_or(0);
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

std::string Text(const Header& header, ForEachLease leases) {
  Json own = ToJson(header.own.node);
  Set(own, "backend", header.own.backend_type);
  if (header.own.v4 != lease::OwnNodeFamily()) own["ipv4"] = ToJson(header.own.v4);
  if (header.own.v6 != lease::OwnNodeFamily()) own["ipv6"] = ToJson(header.own.v6);
  Json first = {{"apiVersion", kFormat}, {"saved", header.saved}, {"boot", header.scope.boot}};
  Set(first, "node", header.scope.node);
  Set(first, "pod", header.scope.pod);
  first["source"] = header.scope.source;
  first["netConf"] = header.scope.net_conf;
  first["own"] = std::move(own);
  std::string lines;
  std::size_t count = 0;
  leases([&](const lease::Lease& lease) {
    Json line = ToJson(lease.node);
    Set(line, "backend", lease.backend_type);
    if (lease.v4) line["ipv4"] = ToJson(*lease.v4);
    if (lease.v6) line["ipv6"] = ToJson(*lease.v6);
    AppendLine(lines, line);
    ++count;
  });
  first["leases"] = count;
  std::string text;
  AppendLine(text, first);
  return lines.insert(0, text);
}

absl::StatusOr<State> Parse(std::string_view text) {
  State state;
  std::int64_t desired = 0;
  std::size_t line = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    ++line;
    if (end == std::string_view::npos) return OfLine(line, "it is cut off");
    const Json json = Json::parse(text.substr(0, end), nullptr, /*allow_exceptions=*/false);
    text.remove_prefix(end + 1);
    if (!json.is_object()) return OfLine(line, "it is no JSON object");
    std::string error;
    const Reader reader(json, error);
    if (line == 1) {
      const std::string format = reader.String("apiVersion");
      if (format != kFormat && format.starts_with(kFormats))
        return absl::FailedPreconditionError(absl::StrCat("it has the format ", Quoted(format)));
      if (format != kFormat) return OfLine(line, "it is no journal of weft");
      desired = ReadHeader(reader, state);
    } else {
      state.leases.push_back(ReadLease(reader));
    }
    if (!error.empty()) return OfLine(line, error);
  }
  if (line == 0) return absl::DataLossError("it is empty");
  if (static_cast<std::int64_t>(state.leases.size()) != desired) {
    return absl::DataLossError(
        absl::StrCat("it has ", state.leases.size(), " leases instead of ", desired));
  }
  return state;
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
  if (state.net_conf != desired.net_conf)
    return absl::StrCat("it is of another net-conf: ", Quoted(state.net_conf, 200), ", now ",
                        desired.net_conf);
  return "";
}

// ---- the file

Journal::Journal(const std::string& folder)
    : folder_(folder), path_(absl::StrCat(folder, "/journal.json")) {}

absl::StatusOr<std::optional<State>> Journal::Load() const {
  const auto refused = [this](const absl::Status& why) {
    return absl::Status(why.code(),
                        absl::StrCat("the journal ", path_, " is not used: ", why.message(),
                                     "; it is replaced once the source of leases answers"));
  };
  // Before it is opened: opening a FIFO would wait for its writer.
  std::error_code error;
  const auto found = std::filesystem::symlink_status(control::PathOf(path_), error);
  if (found.type() == std::filesystem::file_type::not_found) return std::nullopt;
  if (!std::filesystem::is_regular_file(found))
    return refused(absl::DataLossError("it is no regular file"));
  for (const std::string& path : {folder_, path_}) {
    if (const absl::Status own = control::CheckOwn(path); !own.ok()) return refused(own);
  }
  const absl::StatusOr<std::string> text = control::ReadFileText(path_, kMostText);
  if (!text.ok()) return refused(text.status());
  absl::StatusOr<State> state = Parse(*text);
  if (!state.ok()) return refused(state.status());
  return *std::move(state);
}

absl::Status Journal::Save(const Header& header, ForEachLease leases) const {
  const auto failed = [this](const absl::Status& why) {
    return absl::Status(
        why.code(),
        absl::StrCat("the journal ", path_, ": ", why.message(),
                     "; a restart without the source of leases would start without peers; ",
                     control::StepToWrite(why, "--state-dir")));
  };
  const std::string text = Text(header, leases);
  if (text.size() > kMostText)
    return failed(absl::ResourceExhaustedError("the leases exceed its 64 MiB"));
  if (const auto made = control::MakeOwnFolder(folder_); !made.ok()) return failed(made.status());
  if (const auto aside = control::SetForeignAside(path_); !aside.ok())
    return failed(aside.status());
  if (absl::Status written = control::ReplaceFileText(path_, text); !written.ok())
    return failed(written);
  return absl::OkStatus();
}

}  // namespace weft::journal
