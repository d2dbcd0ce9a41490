// SPDX-License-Identifier: Apache-2.0
#include "control/cni/plugin_config.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "control/cni/containerd_folders.h"
#include "control/cni/source_vip.h"
#include "control/folded_json.h"
#include "nlohmann/json.hpp"
#include "vxlan/mtu.h"
#include "vxlan/text/printable.h"

namespace weft::cni {
namespace {

using Json = nlohmann::ordered_json;
using Value = nlohmann::json;

constexpr std::string_view kFlannel = "flannel";
constexpr std::string_view kSkipped = "another program; its members are not checked";
constexpr std::string_view kVersion = "1.0.0";
constexpr std::string_view kFlannelVersion = "0.4.0";  // its plugin may take no later one
constexpr std::string_view kVersions[] = {"0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"};

bool IsOverlay(Plugin plugin) { return plugin != Plugin::kWinBridge; }

// On the bridge HNS has the first address of the subnet, flanneld's endpoint the second.
IpAddress BridgeGateway(const IpPrefix& subnet) { return subnet.base().Next().Next(); }
IpAddress FirstOnBridge(const IpPrefix& subnet) { return BridgeGateway(subnet).Next(); }

// ---- the text

Json EndpointPolicy(std::string_view type, Json settings) {
  return {{"name", "EndpointPolicy"},
          {"value", {{"Type", type}, {"Settings", std::move(settings)}}}};
}

Json Policies(const ConfigChoice& choice, const NodeFacts& facts) {
  std::vector<std::string> exceptions;
  const auto except = [&exceptions](const IpPrefix& prefix) {
    const std::string text = prefix.ToString();
    if (std::ranges::find(exceptions, text) == exceptions.end()) exceptions.push_back(text);
  };
  std::ranges::for_each(facts.cluster, except);
  std::ranges::for_each(facts.services, except);
  const auto route = [](const std::string& prefix) {
    return EndpointPolicy("SDNRoute", {{"DestinationPrefix", prefix}, {"NeedEncap", true}});
  };
  Json routes = Json::array();
  for (const IpPrefix& each : facts.services) routes.push_back(route(each.ToString()));
  if (choice.plugin == Plugin::kWinBridge) {
    // Of the nodes' network this address alone: other machines there have no route to pods.
    const IpPrefix node = *IpPrefix::From(*facts.node, 32);
    except(node);
    routes.push_back(route(node.ToString()));
  }
  Json policies = {EndpointPolicy("OutBoundNAT", {{"Exceptions", exceptions}})};
  policies.insert(policies.end(), routes.begin(), routes.end());
  if (choice.plugin == Plugin::kSdnOverlay) {
    policies.push_back(
        EndpointPolicy("ProviderAddress", {{"ProviderAddress", facts.node->ToString()}}));
  }
  if (choice.encap_overhead)
    policies.push_back(
        EndpointPolicy("EncapOverhead", {{"Overhead", EncapsulationOverhead(IpFamily::kV4)}}));
  return policies;
}

Json Ipam(Plugin plugin, const NodeFacts& facts) {
  if (plugin == Plugin::kSdnOverlay)  // passes on nothing else
    return {{"type", "host-local"}, {"subnet", facts.subnet->ToString()}};
  Json range = {{"subnet", facts.subnet->ToString()}};
  if (plugin == Plugin::kWinBridge) {
    range["rangeStart"] = FirstOnBridge(*facts.subnet).ToString();
    range["gateway"] = BridgeGateway(*facts.subnet).ToString();
  }
  return {{"type", "host-local"},
          {"ranges", Json::array({Json::array({std::move(range)})})},
          {"dataDir", facts.store}};
}

absl::Status NeedFact(std::string_view plugin, std::string_view fact) {
  return absl::FailedPreconditionError(absl::StrCat(plugin, " needs ", fact));
}

absl::Status CheckFacts(const ConfigChoice& choice, const NodeFacts& facts) {
  const std::string_view name = Name(choice.plugin);
  if (facts.network.empty()) return NeedFact(name, "the network's name in HNS");
  if (facts.cluster.empty()) return NeedFact(name, "net-conf's Network");
  if (facts.services.empty()) return NeedFact(name, "the service CIDR");
  if (!choice.through_flannel && !facts.subnet) return NeedFact(name, "the node's subnet");
  if (choice.plugin != Plugin::kWinOverlay && !facts.node)
    return NeedFact(name, "the node's address");
  if (choice.plugin == Plugin::kWinBridge && choice.encap_overhead)
    return absl::InvalidArgumentError("win-bridge's network encapsulates nothing");
  if (choice.loopback_dsr && facts.dsr == false)
    return absl::FailedPreconditionError("this HNS has no DSR (it needs 9.3 to 9.x, or 10.2)");
  return absl::OkStatus();
}

// ---- the reader

std::string Shortened(const Value& value) {
  constexpr std::size_t kMost = 60;
  const std::string text = value.dump(-1, ' ', false, Value::error_handler_t::replace);
  return text.size() <= kMost ? text : absl::StrCat(text.substr(0, kMost), "...");
}

// As Go fills a struct, from keys that libcni has sorted: without case, of several the last.
const Value* Member(const Value& object, std::string_view name) {
  const Value* found = nullptr;
  if (!object.is_object()) return found;
  for (const auto& each : object.items())
    if (absl::EqualsIgnoreCase(each.key(), name) && !each.value().is_null()) found = &each.value();
  return found;
}

std::string TextOf(const Value* value) {
  return value && value->is_string() ? value->get<std::string>() : "";
}
std::string TextOf(const Value& object, std::string_view name) {
  return TextOf(Member(object, name));
}

// What the Go programs take; they refuse another type of value.
struct Kind {
  std::string_view name;
  bool (*is)(const Value& value);
};
bool All(const Value& values, bool (Value::*is)() const noexcept) {
  return std::all_of(values.begin(), values.end(),
                     [is](const Value& each) { return each.is_null() || (each.*is)(); });
}
constexpr Kind kText{"a text", [](const Value& value) { return value.is_string(); }};
constexpr Kind kFlag{"true or false", [](const Value& value) { return value.is_boolean(); }};
constexpr Kind kNumber{"a whole number", [](const Value& value) {  // libcni has written 2.0 as 2
                         return value.is_number() && std::fmod(value.get<double>(), 1) == 0;
                       }};
constexpr Kind kObject{"an object", [](const Value& value) { return value.is_object(); }};
constexpr Kind kList{"a list", [](const Value& value) { return value.is_array(); }};
constexpr Kind kTexts{"a list of texts", [](const Value& value) {
                        return value.is_array() && All(value, &Value::is_string);
                      }};
constexpr Kind kFlags{"an object of true and false", [](const Value& value) {
                        return value.is_object() && All(value, &Value::is_boolean);
                      }};

struct Field {
  std::string_view path;
  const Kind& kind;
};
constexpr Field kLibcniFields[] = {
    {"cniVersion", kText},    {"name", kText},        {"type", kText},
    {"capabilities", kFlags}, {"ipam", kObject},      {"ipam.type", kText},
    {"dns", kObject},         {"dns.domain", kText},  {"dns.nameservers", kTexts},
    {"dns.search", kTexts},   {"dns.options", kTexts}};
constexpr Field kFlannelFields[] = {
    {"subnetFile", kText}, {"dataDir", kText}, {"runtimeConfig", kObject}};
constexpr Field kHnsFields[] = {{"apiVersion", kNumber},
                                {"loopbackDSR", kFlag},
                                {"ipMasq", kFlag},
                                {"endpointMacPrefix", kText}};
constexpr Field kSdnFields[] = {{"optionalFlags", kObject}, {"optionalFlags.loopbackDSR", kFlag}};
constexpr Field kHostLocalFields[] = {
    {"routes", kList}, {"ranges", kList}, {"dataDir", kText}, {"resolvConf", kText}};
constexpr Field kRangeFields[] = {
    {"subnet", kText}, {"rangeStart", kText}, {"rangeEnd", kText}, {"gateway", kText}};

std::string List(const std::vector<IpPrefix>& prefixes) {
  return absl::StrJoin(prefixes, ", ", [](std::string* out, const IpPrefix& each) {
    absl::StrAppend(out, each.ToString());
  });
}

// Windows takes both slashes, ignores the case, and a path without a drive is on the system's.
std::string SamePathKey(std::string_view path) {
  std::string key = absl::AsciiStrToLower(absl::StrReplaceAll(path, {{"\\", "/"}}));
  if (key.starts_with("c:/")) key.erase(0, 2);
  while (key.size() > 1 && key.ends_with('/')) key.pop_back();
  return key;
}

class Reader {
 public:
  explicit Reader(const NodeFacts& facts) : facts_(facts) {}

  // A list is read as a Go map, with its keys as they are.
  void Read(const Value& root, bool is_list) {
    const auto exact = [&](std::string_view name) -> const Value* {
      const auto found = root.find(name);
      return found == root.end() ? nullptr : &*found;
    };
    const auto top = [&](std::string_view name) {
      return is_list ? exact(name) : Member(root, name);
    };
    ReadName(top("name"));
    ReadVersion(top("cniVersion"));
    const Value* const plugins = exact("plugins");
    if (!is_list && plugins && !Member(root, "type"))
      return Find("plugins", Shortened(*plugins),
                  "containerd reads lists from files named .conflist alone, and refuses this one; "
                  "rename it");
    if (!is_list && Member(root, "type")) return ReadPlugin(root, "");
    if (!plugins) return Find("plugins", "null", "none: containerd refuses the file; add one");
    for (const char* const name : {"disableCheck", "disableGC", "loadOnlyInlinedPlugins"}) {
      const Value* const flag = exact(name);
      const std::string text = absl::AsciiStrToLower(TextOf(flag));
      if (flag && !flag->is_boolean() && text != "true" && text != "false")
        Find(name, Shortened(*flag), "it is not true or false: containerd refuses the file");
    }
    if (!plugins->is_array() || plugins->empty())
      return Find("plugins", Shortened(*plugins), "no list with a plugin; containerd refuses it");
    for (std::size_t i = 0; i < plugins->size(); ++i)
      ReadPlugin((*plugins)[i], absl::StrCat("plugins[", i, "]."));
  }
  std::vector<Remark> Take() { return std::move(remarks_); }

 private:
  void Say(std::string member, std::string value, std::string meaning, std::string finding = "") {
    remarks_.push_back(
        {std::move(member), std::move(value), std::move(meaning), std::move(finding)});
  }
  void Find(std::string member, std::string value, std::string finding) {
    Say(std::move(member), std::move(value), "", std::move(finding));
  }

  // What nothing here judges.
  void Skip(std::string member, const std::string& value, std::string meaning) {
    Say(std::move(member), value, std::move(meaning));
    remarks_.back().skipped = true;
  }

  // `at` and the path name a member; `refuses`: "containerd refuses the file".
  void CheckTypes(const Value& object, std::span<const Field> fields, const std::string& at,
                  std::string_view refuses) {
    for (const Field& field : fields) {
      const Value* value = &object;
      for (const std::string_view name : absl::StrSplit(field.path, '.'))
        value = value ? Member(*value, name) : nullptr;
      if (value && !field.kind.is(*value))
        Find(absl::StrCat(at, field.path), Shortened(*value),
             absl::StrCat("it is not ", field.kind.name, ": ", refuses));
    }
  }

  void ReadName(const Value* given) {
    const std::string name = TextOf(given);
    Say("name", Quoted(name, 60), "the plugins find flanneld's network in HNS by this name",
        name.empty() ? "it is missing, or no text; containerd refuses the file"
        : facts_.network.empty() || facts_.network == name
            ? ""
            : absl::StrCat("flanneld's network is ", facts_.network,
                           ": no pod can start in it; set name to that"));
  }

  void ReadVersion(const Value* given) {
    const std::string version = TextOf(given);
    Say("cniVersion", Quoted(version, 60), "the form of the plugins' answers",
        std::ranges::count(kVersions, version) != 0
            ? ""
            : absl::StrCat("it is none of ", absl::StrJoin(kVersions, ", "), "; write ", kVersion));
  }

  void ReadPlugin(const Value& plugin, const std::string& at) {
    const std::string type = TextOf(plugin, "type");
    CheckTypes(plugin, kLibcniFields, at, "containerd refuses the file");
    if (type == kFlannel) return ReadFlannel(plugin, at);
    const std::optional<Plugin> known = PluginOf(type);
    if (type.empty())
      return Find(at + "type", "\"\"", "it is missing; containerd refuses the file");
    if (!known) return Skip(at + "type", Quoted(type, 60), std::string(kSkipped));
    ReadKind(*known, at + "type");
    ReadDelegate(plugin, *known, at);
    ReadIpam(plugin, *known, at);
  }

  void ReadKind(Plugin kind, std::string member) {
    const bool bridge = !IsOverlay(kind);
    Say(std::move(member), Quoted(Name(kind), 60), MeaningOf(kind),
        facts_.bridge.value_or(bridge) == bridge
            ? ""
            : absl::StrCat("net-conf's Backend.Type is ", bridge ? "vxlan" : "host-gw",
                           ": no pod can start; install the configuration again"));
  }

  static std::string MeaningOf(Plugin plugin) {
    switch (plugin) {
      case Plugin::kWinOverlay:
        return "makes the pod's endpoint in an overlay network of HNS, with its ProviderAddress";
      case Plugin::kSdnOverlay:
        return "makes the pod's endpoint in an overlay network of HNS; makes the network, too, if "
               "flanneld has not yet";
      case Plugin::kWinBridge:
        return "makes the pod's endpoint in an L2Bridge network of HNS (host-gw)";
    }
    return "";
  }

  void ReadFlannel(const Value& plugin, const std::string& at) {
    Say(at + "type", "\"flannel\"",
        "reads subnet.env for each pod, and calls the plugin in delegate with this node's subnet");
    const std::string file = TextOf(plugin, "subnetfile");
    if (!file.empty() || !facts_.subnet_file.empty()) {
      const std::string read = file.empty() ? "/run/flannel/subnet.env" : file;
      Say(at + "subnetFile", Quoted(read, 200), "where flannel reads this node's subnet",
          facts_.subnet_file.empty() || SamePathKey(read) == SamePathKey(facts_.subnet_file)
              ? ""
              : absl::StrCat("flanneld writes ", facts_.subnet_file, "; set subnetFile to that"));
    }
    const Value* const delegate = Member(plugin, "delegate");
    CheckTypes(plugin, kFlannelFields, at, "flannel starts no pods");
    if (delegate && !delegate->is_object())
      return Find(at + "delegate", Shortened(*delegate),
                  "delegate is no object; flannel refuses it");
    // A Go map, with its keys as they are.
    const auto exact = [&](const char* key) -> const Value* {
      return delegate && delegate->contains(key) ? &(*delegate)[key] : nullptr;
    };
    const Value* const type = exact("type");
    const std::string named = type ? TextOf(type) : "win-bridge";
    if (named.empty())
      return Find(at + "delegate.type", Shortened(*type), "it names no plugin; flannel refuses it");
    const std::optional<Plugin> known = PluginOf(named);
    if (known)
      ReadKind(*known, at + "delegate.type");
    else
      Skip(at + "delegate.type", Quoted(named, 60), std::string(kSkipped));
    if (!delegate) return;
    for (const char* const key : {"name", "ipam"}) {
      if (const Value* const member = exact(key))
        Find(absl::StrCat(at, "delegate.", key), Shortened(*member),
             "flannel refuses a delegate that has it; remove it");
    }
    if (known) ReadDelegate(*delegate, *known, at + "delegate.");
  }

  // What the plugin that makes the endpoint reads, without IPAM.
  void ReadDelegate(const Value& plugin, Plugin kind, const std::string& at) {
    const bool sdn = kind == Plugin::kSdnOverlay;
    CheckTypes(plugin,
               sdn ? std::span<const Field>(kSdnFields) : std::span<const Field>(kHnsFields), at,
               absl::StrCat(Name(kind), " starts no pods"));
    if (!sdn) {
      const Value* const api = Member(plugin, "apiversion");
      Say(at + "apiVersion", api ? Shortened(*api) : "none",
          "2: the endpoint joins containerd's network namespace",
          api && *api == 2
              ? ""
              : "without 2 the plugin uses HNS's first schema, which containerd's pods "
                "do not have; set it to 2");
    }
    if (const Value* const mac = Member(plugin, "endpointmacprefix"); mac && !sdn) {
      const std::string text = mac->is_string() ? mac->get<std::string>() : "";
      Say(at + "endpointMacPrefix", Shortened(*mac), "how MACs of pods begin",
          text.size() == 5 && text[2] == '-' ? "" : "it is not of the form 0E-2A");
    }
    const Value* const flags = Member(plugin, "optionalflags");
    const Value* const dsr =
        sdn ? (flags ? Member(*flags, "loopbackdsr") : nullptr) : Member(plugin, "loopbackdsr");
    if (dsr) {
      const bool unknown = *dsr == true && !facts_.dsr;
      Say(at + (sdn ? "optionalFlags.loopbackDSR" : "loopbackDSR"), Shortened(*dsr),
          unknown ? "a pod reaches itself by its own service, if HNS has DSR; HNS cannot be asked"
                  : "a pod reaches itself by its own service",
          *dsr == true && facts_.dsr == false
              ? "this HNS has no DSR, and refuses the endpoint; set it to false"
              : "");
      remarks_.back().skipped = unknown;
    }
    const char* const read = sdn ? "AdditionalArgs" : "policies";
    const char* const unread = sdn ? "policies" : "AdditionalArgs";
    if (const Value* const other = Member(plugin, absl::AsciiStrToLower(unread))) {
      Find(at + unread, Shortened(*other),
           absl::StrCat(Name(kind), " does not read it; move its entries to ", read));
    }
    ReadPolicies(Member(plugin, absl::AsciiStrToLower(read)), kind, at + read);
  }

  void ReadPolicies(const Value* policies, Plugin kind, const std::string& at) {
    if (policies && !policies->is_array())
      return Find(at, Shortened(*policies), "it is no list, and the plugin refuses it");
    excepted_.clear(), routed_.clear();
    nat_ = provider_ = false;
    for (std::size_t i = 0; policies && i < policies->size(); ++i)
      ReadPolicy((*policies)[i], absl::StrCat(at, "[", i, "]"));
    if (!nat_) {
      Say(at, "no OutBoundNAT", "packets of pods to other networks keep the pod's address",
          "nothing outside of the cluster can answer pods, unless a router translates their "
          "addresses; add OutBoundNAT with Exceptions");
    } else {
      for (const auto* const wanted : {&facts_.cluster, &facts_.services}) {
        for (const IpPrefix& each : *wanted) {
          if (!Covered(each, excepted_))
            Find(at, "OutBoundNAT",
                 absl::StrCat("its Exceptions lack ", each.ToString(),
                              ": packets of pods to it leave with the node's address; add it"));
        }
      }
      for (const IpPrefix& each : excepted_) {
        if (facts_.node && each.length() < 32 && each.Contains(*facts_.node) &&
            !Covered(each, facts_.cluster) && !Covered(each, facts_.services))
          Find(at, "OutBoundNAT",
               absl::StrCat("its Exceptions have ", each.ToString(),
                            ", the nodes' network: of the machines there only those with a route "
                            "to pods answer them; write the pods' and the services' prefixes and ",
                            facts_.node->ToString(), "/32 instead"));
      }
    }
    if (IsOverlay(kind)) {
      for (const IpPrefix& each : facts_.services) {
        if (!Covered(each, routed_))
          Find(at, "no SDNRoute",
               absl::StrCat("packets of pods to services of ", each.ToString(),
                            " are not encapsulated; add an SDNRoute to it with NeedEncap"));
      }
    }
    if (kind == Plugin::kSdnOverlay && !provider_)
      Find(at, "no ProviderAddress", "sdnoverlay adds none by itself; add the node's address");
  }

  static bool Covered(const IpPrefix& prefix, const std::vector<IpPrefix>& by) {
    return std::ranges::any_of(by, [&](const IpPrefix& each) { return each.Contains(prefix); });
  }

  void ReadPolicy(const Value& policy, const std::string& at) {
    const Value* const value = Member(policy, "value");
    const std::string type = value ? absl::AsciiStrToLower(TextOf(*value, "type")) : "";
    if (!absl::EqualsIgnoreCase(TextOf(policy, "name"), "EndpointPolicy") || type.empty())
      return Find(at, Shortened(policy),
                  "the plugins take entries with name \"EndpointPolicy\" and a value with type");
    const Value* const given = Member(*value, "settings");
    const Value settings = given ? *given : Value::object();
    const std::string shown = Quoted(TextOf(*value, "type"), 60);
    if (type == "outboundnat") {
      nat_ = true;
      const Value* const list = Member(settings, "exceptions");
      const Value* const former = Member(*value, "exceptionlist");
      const std::size_t bad = Append(list ? list : former, excepted_);
      Say(at, shown,
          absl::StrCat("packets of pods leave with the node's address, but not to ",
                       excepted_.empty() ? "anything" : List(excepted_)),
          former     ? "ExceptionList is of HNS's first schema; write Settings with Exceptions"
          : bad != 0 ? "an exception is no CIDR, as 10.244.0.0/16"
                     : "");
    } else if (type == "sdnroute" || type == "route") {
      const std::string text = TextOf(settings, "destinationprefix");
      const auto prefix = IpPrefix::Parse(text);
      const Value* const encap = Member(settings, "needencap");
      const bool good = type == "sdnroute" && prefix && encap && *encap == true;
      if (good) routed_.push_back(*prefix);
      Say(at, shown, absl::StrCat("packets of pods to ", Quoted(text, 60), " are encapsulated"),
          type == "route" ? "ROUTE is of HNS's first schema; write SDNRoute with Settings"
          : good          ? ""
                          : "it needs DestinationPrefix, a CIDR, and NeedEncap true");
    } else if (type == "provideraddress" || type == "pa") {
      provider_ = true;
      const std::string text = TextOf(settings, "provideraddress");
      Say(at, shown, absl::StrCat("other nodes reach the pod by ", Quoted(text, 60)),
          type == "pa" ? "PA is of HNS's first schema; write ProviderAddress with Settings"
          : facts_.node && facts_.node->ToString() != text
              ? absl::StrCat("the network's address is ", facts_.node->ToString(),
                             ": other nodes do not reach the pods; set it to that")
              : "");
    } else if (type == "encapoverhead") {
      const Value* const overhead = Member(settings, "overhead");
      Say(at, shown,
          "HNS lowers the MTU of pods by Overhead, where it does (unproven on real Windows)",
          overhead && overhead->is_number_unsigned() ? "" : "Overhead is no number; write 50");
    } else {
      Skip(at, shown, "passed to HNS as it is; not checked");
    }
  }

  // How many entries of `list` are no prefixes.
  static std::size_t Append(const Value* list, std::vector<IpPrefix>& out) {
    if (!list || !list->is_array()) return 1;
    std::size_t bad = 0;
    for (const Value& each : *list) {
      const auto prefix =
          each.is_string() ? IpPrefix::Parse(each.get<std::string>()) : std::nullopt;
      if (prefix)
        out.push_back(*prefix);
      else
        ++bad;
    }
    return bad;
  }

  void ReadIpam(const Value& plugin, Plugin kind, const std::string& at) {
    const Value* const ipam = Member(plugin, "ipam");
    const std::string type = ipam ? TextOf(*ipam, "type") : "";
    if (type.empty())
      return Find(at + "ipam.type", "\"\"", "nothing gives pods their addresses; write host-local");
    if (type != "host-local")
      return Skip(at + "ipam.type", Quoted(type, 60), std::string(kSkipped));
    Say(at + "ipam.type", "\"host-local\"", "gives each pod a free address of the subnet");
    CheckTypes(*ipam, kHostLocalFields, at + "ipam.", "host-local gives no addresses");
    const Value* const ranges = Member(*ipam, "ranges");
    const bool listed = ranges && ranges->is_array() && !ranges->empty() &&
                        (*ranges)[0].is_array() && !(*ranges)[0].empty();
    const Value& range = listed ? (*ranges)[0][0] : *ipam;
    CheckTypes(range, kRangeFields, absl::StrCat(at, "ipam.", listed ? "ranges[0][0]." : ""),
               "host-local gives no addresses");
    const std::string text = TextOf(range, "subnet");
    std::optional<IpPrefix> subnet = IpPrefix::Parse(text);
    if (subnet && subnet->family() != IpFamily::kV4) subnet.reset();
    Say(at + "ipam" + (listed ? ".ranges[0][0].subnet" : ".subnet"), Quoted(text, 60),
        "the addresses of pods",
        !subnet ? "it is no IPv4 CIDR, as 10.244.1.0/24"
        : facts_.subnet && *facts_.subnet != *subnet
            ? absl::StrCat("the node's subnet is ", facts_.subnet->ToString(),
                           ": other nodes do not reach these pods; install the configuration again")
        : kind == Plugin::kSdnOverlay && listed
            ? "sdnoverlay passes on `subnet` only; write \"subnet\" in place of ranges"
            : "");
    const Value* const folder = Member(*ipam, "datadir");
    const std::string store = folder && kind != Plugin::kSdnOverlay ? TextOf(*ipam, "datadir")
                                                                    : std::string(kDefaultStore);
    Say(at + "ipam.dataDir", Quoted(store, 200),
        kind == Plugin::kSdnOverlay ? "where host-local keeps them; sdnoverlay passes on no other"
                                    : "where host-local keeps them",
        facts_.store.empty() || SamePathKey(store) == SamePathKey(facts_.store)
            ? ""
            : absl::StrCat("flanneld reserves kube-proxy's source VIP in ", facts_.store,
                           ": a pod could get that address; ",
                           kind == Plugin::kSdnOverlay
                               ? "run flanneld with --source-vip-store=C:\\var\\lib\\cni\\networks"
                               : "set dataDir to that"));
    if (kind == Plugin::kWinBridge && subnet) {
      const std::string first = TextOf(range, "rangestart");
      const auto start = IpAddress::Parse(first);
      Say(at + "ipam.rangeStart", Quoted(first, 60), "the first address that a pod gets",
          start && start->is_v4() && start->v4() >= FirstOnBridge(*subnet).v4()
              ? ""
              : absl::StrCat(BridgeGateway(*subnet).ToString(),
                             " is flanneld's own on the bridge; write ",
                             FirstOnBridge(*subnet).ToString()));
    }
  }

  const NodeFacts& facts_;
  std::vector<Remark> remarks_;
  // Of the list that is read.
  std::vector<IpPrefix> excepted_, routed_;
  bool nat_ = false, provider_ = false;
};

}  // namespace

constexpr std::string_view kPlugins[] = {"win-overlay", "sdnoverlay", "win-bridge"};
std::string_view Name(Plugin plugin) { return kPlugins[static_cast<std::size_t>(plugin)]; }

std::optional<Plugin> PluginOf(std::string_view name) {
  for (const Plugin each : {Plugin::kWinOverlay, Plugin::kSdnOverlay, Plugin::kWinBridge})
    if (Name(each) == name) return each;
  return std::nullopt;
}

absl::StatusOr<std::string> ConfigText(const ConfigChoice& choice, const NodeFacts& facts) {
  if (absl::Status known = CheckFacts(choice, facts); !known.ok()) return known;
  const bool sdn = choice.plugin == Plugin::kSdnOverlay;
  Json endpoint = {{"type", Name(choice.plugin)}};
  if (!sdn) endpoint["apiVersion"] = 2;
  if (choice.loopback_dsr) {
    if (sdn)
      endpoint["optionalFlags"] = {{"loopbackDSR", true}};
    else
      endpoint["loopbackDSR"] = true;
  }
  endpoint[sdn ? "AdditionalArgs" : "policies"] = Policies(choice, facts);
  if (!choice.through_flannel) endpoint["ipam"] = Ipam(choice.plugin, facts);
  Json plugin = choice.through_flannel ? Json{{"type", kFlannel}} : endpoint;
  if (choice.through_flannel) {
    if (!facts.subnet_file.empty()) plugin["subnetFile"] = facts.subnet_file;
    if (!facts.flannel_data.empty()) plugin["dataDir"] = facts.flannel_data;
    plugin["delegate"] = std::move(endpoint);
  }
  plugin["capabilities"] = {{"portMappings", true}, {"dns", true}};
  const Json config = {{"name", facts.network},
                       {"cniVersion", choice.through_flannel ? kFlannelVersion : kVersion},
                       {"plugins", Json::array({std::move(plugin)})}};
  return config.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

absl::StatusOr<std::vector<Remark>> ExplainConfig(std::string_view text, const NodeFacts& facts,
                                                  std::string_view name) {
  const absl::StatusOr<Value> root = control::ParseAsGo(text);
  if (!root.ok()) return root.status();
  if (!root->is_object()) return absl::InvalidArgumentError("it is no JSON object");
  Reader reader(facts);
  reader.Read(*root, IsConfigName(name) ? name.ends_with(".conflist") : root->contains("plugins"));
  return reader.Take();
}

std::vector<std::string> PluginsOf(std::string_view text) {
  const absl::StatusOr<Value> root = control::ParseAsGo(text);
  std::vector<std::string> names;
  const auto add = [&names](const Value& object) {
    const std::string type = TextOf(object, "type");
    if (!type.empty() && std::ranges::find(names, type) == names.end()) names.push_back(type);
  };
  if (!root.ok()) return names;
  const Value* const plugins = Member(*root, "plugins");
  const Value list = plugins && plugins->is_array() ? *plugins : Value::array({*root});
  for (const Value& plugin : list) {
    add(plugin);
    if (const Value* const delegate = Member(plugin, "delegate")) add(*delegate);
    if (const Value* const ipam = Member(plugin, "ipam"))
      add(*ipam);
    else if (TextOf(plugin, "type") == kFlannel)
      add({{"type", "host-local"}});
  }
  return names;
}

}  // namespace weft::cni
