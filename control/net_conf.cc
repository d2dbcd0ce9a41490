// SPDX-License-Identifier: Apache-2.0
#include "control/net_conf.h"

#include <algorithm>
#include <limits>
#include <span>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/file_io.h"
#include "control/folded_json.h"
#include "vxlan/text/printable.h"

namespace weft::control {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxFile = std::size_t{1} << 20;  // bytes; a real file has some hundred

std::string Show(const json& value) {
  if (value.is_string()) return Quoted(value.get_ref<const std::string&>());
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return value.dump();
}

// Reads members of one object. Keeps the first error; later reads return defaults. `where` is "" or
// "Backend.".
class Members {
 public:
  Members(const json& object, std::string_view where, std::string_view file, absl::Status& status)
      : object_(object), where_(where), file_(file), status_(status) {}

  // `key` in the document's spelling. nullptr if absent or null.
  const json* Find(std::string_view key) const {
    const auto at = object_.find(absl::AsciiStrToLower(key));
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }
  bool Has(std::string_view key) const { return Find(key) != nullptr; }

  bool Bool(std::string_view key, bool otherwise) {
    const json* value = Find(key);
    if (value == nullptr) return otherwise;
    if (value->is_boolean()) return value->get<bool>();
    Refuse(key, Show(*value), "is not true or false", "write it without quotes");
    return otherwise;
  }

  std::uint64_t Number(std::string_view key, std::uint64_t most, std::uint64_t otherwise) {
    const json* value = Find(key);
    if (value == nullptr) return otherwise;
    if (value->is_number_unsigned() && value->get<std::uint64_t>() <= most)
      return value->get<std::uint64_t>();
    Refuse(key, Show(*value), absl::StrCat("is not a whole number from 0 to ", most),
           "write it without quotes and without a decimal point");
    return otherwise;
  }

  std::string String(std::string_view key) {
    const json* value = Find(key);
    if (value == nullptr) return "";
    if (value->is_string()) return value->get<std::string>();
    Refuse(key, Show(*value), "is not a string", "write it in quotes");
    return "";
  }

  std::optional<IpPrefix> Network(std::string_view key, IpFamily family) {
    const json* value = Find(key);
    if (value == nullptr) return std::nullopt;
    const auto prefix = IpPrefix::Parse(String(key));
    if (prefix && prefix->family() == family) return prefix;
    const bool v4 = family == IpFamily::kV4;
    Refuse(key, Show(*value), v4 ? "is not an IPv4 address block" : "is not an IPv6 address block",
           absl::StrCat("write the cluster's pod network, like \"",
                        v4 ? "10.244.0.0/16" : "fd00:10:244::/56", "\""));
    return std::nullopt;
  }

  void Address(std::string_view key, IpFamily family) {
    const std::string text = String(key);
    const auto address = IpAddress::Parse(text);
    if (text.empty() || (address && address->family() == family)) return;
    Refuse(key, Quoted(text), "is not an address", "leave the key out: it is not used");
  }

  void Refuse(std::string_view key, std::string_view value, std::string_view rule,
              std::string_view fix) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(
        absl::StrCat("net-conf ", file_, ": ", where_, key, ": ", value, " ", rule, "; ", fix));
  }

 private:
  const json& object_;
  std::string_view where_;
  std::string_view file_;
  absl::Status& status_;
};

constexpr std::string_view kIgnoredNumbers[] = {"SubnetLen", "IPv6SubnetLen"};

void ReadFamilies(Members& top, NetConf& conf) {
  conf.enable_ipv4 = top.Bool("EnableIPv4", true);
  conf.enable_ipv6 = top.Bool("EnableIPv6", false);
  conf.nftables = top.Bool("EnableNFTables", false);
  const auto network = top.Network("Network", IpFamily::kV4);
  const auto ipv6_network = top.Network("IPv6Network", IpFamily::kV6);
  if (conf.enable_ipv4) conf.network = network;
  if (conf.enable_ipv6) conf.ipv6_network = ipv6_network;

  if (!conf.enable_ipv4 && !conf.enable_ipv6) {
    top.Refuse("EnableIPv4", "false", "leaves no family, because EnableIPv6 is not true either",
               "enable one of them");
  }
  if (conf.enable_ipv4 && !network) {
    top.Refuse("Network", "the key", "is missing",
               "add the cluster's pod network, for example \"Network\": \"10.244.0.0/16\", or "
               "\"EnableIPv4\": false");
  }
  if (conf.enable_ipv6 && !ipv6_network) {
    top.Refuse("IPv6Network", "the key", "is missing",
               "add the cluster's pod network, for example \"IPv6Network\": \"fd00:10:244::/56\", "
               "or \"EnableIPv6\": false");
  }
}

// Upstream uses these only with etcd, but refuses a wrong type always; so does weft.
void ReadIgnored(Members& top, NetConf& conf) {
  for (const std::string_view key : kIgnoredNumbers)
    top.Number(key, std::numeric_limits<unsigned>::max(), 0);
  for (const char* key : {"SubnetMin", "SubnetMax"}) top.Address(key, IpFamily::kV4);
  for (const char* key : {"IPv6SubnetMin", "IPv6SubnetMax"}) top.Address(key, IpFamily::kV6);
  for (const char* key :
       {"SubnetLen", "SubnetMin", "SubnetMax", "IPv6SubnetLen", "IPv6SubnetMin", "IPv6SubnetMax"}) {
    if (top.Has(key))
      conf.notes.push_back(absl::StrCat(key, " is ignored: subnets come from the Nodes' podCIDRs"));
  }
}

constexpr std::string_view kIgnoredKey = "ignored: subnets come from the Nodes' podCIDRs";
constexpr std::optional<BackendType> kDocument,
    kVxlan = BackendType::kVxlan, kHostGw = BackendType::kHostGw, kAlloc = BackendType::kAlloc;
// The keys that upstream v0.28.9 reads.
constexpr NetConfKey kKeys[] = {
    {kDocument, "EnableIPv4", "true|false", "pods have IPv4 addresses; default true"},
    {kDocument, "EnableIPv6", "true|false", "pods have IPv6 addresses; default false"},
    {kDocument, "EnableNFTables", "true|false",
     "--ip-masq masquerades as upstream's nftables rules do, not as its iptables rules; default "
     "false"},
    {kDocument, "Network", "BLOCK", "the pod network of the cluster, IPv4; required with it"},
    {kDocument, "IPv6Network", "BLOCK", "the pod network of the cluster, IPv6; required with it"},
    {kDocument, "SubnetLen", "NUMBER", kIgnoredKey},
    {kDocument, "SubnetMin", "ADDRESS", kIgnoredKey},
    {kDocument, "SubnetMax", "ADDRESS", kIgnoredKey},
    {kDocument, "IPv6SubnetLen", "NUMBER", kIgnoredKey},
    {kDocument, "IPv6SubnetMin", "ADDRESS", kIgnoredKey},
    {kDocument, "IPv6SubnetMax", "ADDRESS", kIgnoredKey},
    {kDocument, "Backend", "OBJECT", "how peers are reached; required"},

    {kVxlan, "Type", "vxlan", "through a VXLAN tunnel"},
    {kVxlan, "Name", "TEXT", "name of the HNS network; default flannel.VNI"},
    {kVxlan, "VNI", "NUMBER", "the VXLAN network identifier; default 1, with HNS 4096"},
    {kVxlan, "Port", "NUMBER", "the UDP port of the tunnel; default 8472, with HNS 4789"},
    {kVxlan, "MTU", "NUMBER",
     "the MTU of the link, from which pods' is computed; default that of the interface"},
    {kVxlan, "GBP", "true|false", "VXLAN group policy; true is refused"},
    {kVxlan, "Learning", "true|false", "ignored: every address comes from a lease"},
    {kVxlan, "DirectRouting", "true|false",
     "reach peers on the same link by routes of the host, without the tunnel; default false; "
     "refused with HNS"},
    {kVxlan, "MacPrefix", "TEXT", "ignored: the CNI plugin has its own endpointMacPrefix"},

    {kHostGw, "Type", "host-gw", "by routes of the host, all nodes on one link"},
    {kHostGw, "Name", "TEXT", "name of the HNS network; default cbr0"},
    {kHostGw, "DNSServerList", "TEXT", "DNS servers of the HNS network, separated by commas"},

    {kAlloc, "Type", "alloc", "not at all: the lease is taken and subnet.env written"},
};

// `where`: "net-conf: " or "Backend: ".
void NoteUnknown(const json& object, std::string_view where,
                 const std::optional<BackendType>& backend, NetConf& conf) {
  constexpr std::size_t kMostNotes = 10;
  std::vector<std::string_view> known;
  for (const NetConfKey& key : kKeys)
    if (key.backend == backend) known.push_back(key.name);
  std::size_t unknown = 0;
  for (const auto& [key, value] : object.items()) {
    const bool is_known = std::any_of(
        known.begin(), known.end(),
        [&key = key](std::string_view each) { return absl::AsciiStrToLower(each) == key; });
    if (is_known || ++unknown > kMostNotes) continue;
    conf.notes.push_back(absl::StrCat(where, Quoted(key),
                                      " is unknown and ignored: the keys here are ",
                                      absl::StrJoin(known, ", ")));
  }
}

void ReadVxlan(Members& backend, NetConf& conf) {
  const VxlanDefaults& defaults = conf.defaults;
  const bool is_linux = defaults == kLinuxDefaults;
  conf.vni = *Vni::From(backend.Number("VNI", Vni::kMax, defaults.vni.value()));
  if (!backend.Has("VNI")) {
    conf.notes.push_back(absl::StrCat(
        "Backend.VNI is absent: ", conf.vni.value(), " is used, the default of flannel on ",
        is_linux ? "Linux, while Windows nodes use 4096" : "Windows, while Linux nodes use 1",
        "; set it if the cluster has both"));
  } else if (conf.vni.value() > std::numeric_limits<std::uint16_t>::max()) {
    conf.notes.push_back(
        absl::StrCat("Backend.VNI ", conf.vni.value(),
                     " is more than 16 bits: upstream flannel on Windows skips such peers"));
  }

  conf.port = static_cast<std::uint16_t>(
      backend.Number("Port", std::numeric_limits<std::uint16_t>::max(), defaults.port));
  const bool names_port = backend.Has("Port") && (conf.port != 0 || !is_linux);
  if (!names_port) conf.port = defaults.port;  // Linux flannel treats 0 the same
  if (conf.port == 0) {
    backend.Refuse("Port", "0", "is no UDP port (Linux flannel takes 8472 for it)",
                   "write 4789 for all nodes");
  }
  if (!names_port) {
    conf.notes.push_back(absl::StrCat(
        "Backend.Port is absent: ", conf.port, " is used, the default of flannel on ",
        is_linux ? "Linux, while Windows nodes use 4789" : "Windows, while Linux nodes use 8472",
        "; set it if the cluster has both"));
  }

  if (const std::uint64_t mtu = backend.Number("MTU", OuterMtu::kMax, 0); mtu != 0) {
    conf.mtu = OuterMtu::From(mtu);
    if (!conf.mtu)
      backend.Refuse("MTU", absl::StrCat(mtu), "leaves no room for pods' packets",
                     "write 1280 or more");
  }
  conf.name = backend.String("Name");
  if (conf.name.empty()) conf.name = absl::StrCat("flannel.", conf.vni.value());

  backend.Bool("Learning", false);
  if (!backend.String("MacPrefix").empty()) {
    conf.notes.emplace_back(
        "Backend.MacPrefix is ignored: the CNI plugin has its own endpointMacPrefix");
  }
  if (backend.Bool("GBP", false)) {
    backend.Refuse("GBP", "true", "is not supported: no group policy is carried",
                   "remove it on all nodes");
  }
  conf.direct_routing = backend.Bool("DirectRouting", false);
}

// Upstream reads Name and DNSServerList on Windows nodes only.
void ReadHostGw(Members& backend, NetConf& conf) {
  conf.name = backend.String("Name");
  if (conf.name.empty()) conf.name = "cbr0";
  conf.dns_servers = backend.String("DNSServerList");
}

void ReadBackend(Members& top, std::string_view file, absl::Status& status, NetConf& conf) {
  const json* value = top.Find("Backend");
  if (value == nullptr) {
    top.Refuse(
        "Backend", "the key", "is missing",
        R"(add how peers are reached: "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789})");
    return;
  }
  if (!value->is_object()) {
    top.Refuse("Backend", Show(*value), "is not an object",
               R"(write "Backend": {"Type": "vxlan"})");
    return;
  }
  Members backend(*value, "Backend.", file, status);
  const std::string written = backend.String("Type");
  const std::string type = absl::AsciiStrToLower(written);
  if (type == "vxlan") {
    conf.type = BackendType::kVxlan;
    ReadVxlan(backend, conf);
  } else if (type == "alloc") {
    conf.type = BackendType::kAlloc;
  } else if (type == "host-gw") {
    conf.type = BackendType::kHostGw;
    ReadHostGw(backend, conf);
  } else {
    backend.Refuse("Type", Quoted(written), "is not a supported backend",
                   "use \"vxlan\", \"host-gw\" or \"alloc\"");
    return;
  }
  NoteUnknown(*value, "Backend: ", conf.type, conf);
}

}  // namespace

std::span<const NetConfKey> NetConfKeys() { return kKeys; }

constexpr std::string_view kBackendTypes[] = {"vxlan", "host-gw", "alloc"};
std::string_view Name(BackendType type) { return kBackendTypes[static_cast<std::size_t>(type)]; }

absl::StatusOr<NetConf> ParseNetConf(std::string_view text, std::string_view file,
                                     const VxlanDefaults& defaults) {
  const auto document = ParseFolded(text);
  if (!document.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("net-conf ", file, ": ", document.status().message(), "; correct the file"));
  }
  if (!document->is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("net-conf ", file, ": it is ", Show(*document),
                     ", not an object; write {\"Network\": ..., \"Backend\": ...}"));
  }
  NetConf conf;
  conf.defaults = defaults;
  absl::Status status;
  Members top(*document, "", file, status);
  ReadFamilies(top, conf);
  ReadIgnored(top, conf);
  NoteUnknown(*document, "net-conf: ", kDocument, conf);
  ReadBackend(top, file, status, conf);
  if (!status.ok()) return status;
  return conf;
}

absl::StatusOr<NetConf> LoadNetConf(const std::string& path, const VxlanDefaults& defaults) {
  const absl::StatusOr<std::string> text = ReadFileText(path, kMaxFile);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(
        "net-conf ", path, ": cannot be opened; check the path given by --net-config-path"));
  }
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "net-conf ", path, ": cannot be read, or is larger than 1 MiB; is it the right file?"));
  }
  return ParseNetConf(*text, path, defaults);
}

absl::Status CheckInsideNetwork(const IpPrefix& pod_cidr, const IpPrefix& network) {
  if (network.Contains(pod_cidr)) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "podCIDR ", pod_cidr.ToString(), " lies outside ",
      network.family() == IpFamily::kV4 ? "Network " : "IPv6Network ", network.ToString(),
      " of net-conf: make net-conf agree with kube-controller-manager's --cluster-cidr"));
}

void LeaveOutIPv6(NetConf& conf) {
  if (!conf.enable_ipv4 || !conf.enable_ipv6) return;
  conf.enable_ipv6 = false;
  conf.ipv6_left_out = true;
  conf.ipv6_network.reset();
}

absl::Status CheckForHns(const NetConf& conf) {
  constexpr std::uint32_t kLeast = 4096;
  constexpr std::uint32_t kMost = 65535;
  if (conf.vni.value() >= kLeast && conf.vni.value() <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Backend.VNI: ", conf.vni.value(), " is not from ", kLeast, " to ", kMost,
                   ", the range of HNS and kube-proxy; write 4096 for all "
                   "nodes, or use --dataplane=userspace"));
}

}  // namespace weft::control
