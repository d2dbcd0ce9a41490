// SPDX-License-Identifier: Apache-2.0
#include "control/cni/plugin_config.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "control/cni/source_vip.h"
#include "control/folded_json.h"
#include "nlohmann/json.hpp"
#include "vxlan/mtu.h"
#include "vxlan/text/printable.h"

namespace weft::cni {
namespace {

using Json = nlohmann::ordered_json;
using Folded = nlohmann::json;  // keys in lower case

constexpr std::string_view kFlannel = "flannel";
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
    except(*facts.link);
    routes.push_back(route(absl::StrCat(facts.node->ToString(), "/32")));
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
  if (choice.plugin == Plugin::kWinBridge && !facts.link)
    return NeedFact(name, "the length of the node's own subnet");
  if (choice.plugin == Plugin::kWinBridge && choice.encap_overhead)
    return absl::InvalidArgumentError("win-bridge's network encapsulates nothing");
  if (choice.loopback_dsr && facts.dsr == false)
    return absl::FailedPreconditionError("this HNS has no DSR (it needs 9.3 to 9.x, or 10.2)");
  return absl::OkStatus();
}

// ---- the reader

std::string Shortened(const Folded& value) {
  constexpr std::size_t kMost = 60;
  const std::string text = value.dump(-1, ' ', false, Folded::error_handler_t::replace);
  return text.size() <= kMost ? text : absl::StrCat(text.substr(0, kMost), "...");
}

const Folded* Member(const Folded& object, std::string_view folded) {
  if (!object.is_object()) return nullptr;
  const auto at = object.find(folded);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

std::string TextOf(const Folded& object, std::string_view folded) {
  const Folded* const member = Member(object, folded);
  return member && member->is_string() ? member->get<std::string>() : "";
}

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

  void Read(const Folded& root) {
    ReadName(root);
    ReadVersion(root);
    const Folded* const plugins = Member(root, "plugins");
    if (!plugins) {
      if (!Member(root, "type"))
        return Find("plugins", "null", "none: containerd ignores the file; add one");
      return ReadPlugin(root, "");
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

  void ReadName(const Folded& root) {
    const std::string name = TextOf(root, "name");
    Say("name", Quoted(name, 60), "the plugins find flanneld's network in HNS by this name",
        name.empty() ? "it is missing; containerd refuses the file"
        : facts_.network.empty() || facts_.network == name
            ? ""
            : absl::StrCat("flanneld's network is ", facts_.network,
                           ": no pod can start; set name to that"));
  }

  void ReadVersion(const Folded& root) {
    const std::string version = TextOf(root, "cniversion");
    Say("cniVersion", Quoted(version, 60), "the form of the plugins' answers",
        std::ranges::count(kVersions, version) != 0
            ? ""
            : absl::StrCat("it is none of ", absl::StrJoin(kVersions, ", "), "; write ", kVersion));
  }

  void ReadPlugin(const Folded& plugin, const std::string& at) {
    const std::string type = TextOf(plugin, "type");
    if (type == kFlannel) return ReadFlannel(plugin, at);
    const std::optional<Plugin> known = PluginOf(type);
    if (!known) {
      return Say(at + "type", Quoted(type, 60),
                 type.empty() ? "" : "another program; its members are not checked",
                 type.empty() ? "it is missing; containerd refuses the file" : "");
    }
    Say(at + "type", Quoted(type, 60), MeaningOf(*known));
    ReadDelegate(plugin, *known, at);
    ReadIpam(plugin, *known, at);
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

  void ReadFlannel(const Folded& plugin, const std::string& at) {
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
    const Folded* const delegate = Member(plugin, "delegate");
    const std::string type = delegate ? TextOf(*delegate, "type") : "";
    const std::string named = type.empty() ? "win-bridge" : type;
    const std::optional<Plugin> known = PluginOf(named);
    Say(at + "delegate.type", Quoted(named, 60),
        known ? MeaningOf(*known) : "another program; its members are not checked",
        delegate && !delegate->is_object() ? "delegate is no object; flannel refuses it" : "");
    if (!delegate || !delegate->is_object()) return;
    for (const char* const key : {"name", "ipam"}) {
      if (const Folded* const member = Member(*delegate, key))
        Find(absl::StrCat(at, "delegate.", key), Shortened(*member),
             "flannel refuses a delegate that has it; remove it");
    }
    if (known) ReadDelegate(*delegate, *known, at + "delegate.");
  }

  // What the plugin that makes the endpoint reads, without IPAM.
  void ReadDelegate(const Folded& plugin, Plugin kind, const std::string& at) {
    const bool sdn = kind == Plugin::kSdnOverlay;
    if (!sdn) {
      const Folded* const api = Member(plugin, "apiversion");
      Say(at + "apiVersion", api ? Shortened(*api) : "none",
          "2: the endpoint joins containerd's network namespace",
          api && *api == 2
              ? ""
              : "without 2 the plugin uses HNS's first schema, which containerd's pods "
                "do not have; set it to 2");
    }
    if (const Folded* const mac = Member(plugin, "endpointmacprefix"); mac && !sdn) {
      const std::string text = mac->is_string() ? mac->get<std::string>() : "";
      Say(at + "endpointMacPrefix", Shortened(*mac), "how MACs of pods begin",
          text.size() == 5 && text[2] == '-' ? "" : "it is not of the form 0E-2A");
    }
    const Folded* const flags = Member(plugin, "optionalflags");
    const Folded* const dsr =
        sdn ? (flags ? Member(*flags, "loopbackdsr") : nullptr) : Member(plugin, "loopbackdsr");
    if (dsr) {
      Say(at + (sdn ? "optionalFlags.loopbackDSR" : "loopbackDSR"), Shortened(*dsr),
          "a pod reaches itself by its own service",
          *dsr == true && facts_.dsr == false
              ? "this HNS has no DSR, and refuses the endpoint; set it to false"
              : "");
    }
    const char* const read = sdn ? "AdditionalArgs" : "policies";
    const char* const unread = sdn ? "policies" : "AdditionalArgs";
    if (const Folded* const other = Member(plugin, absl::AsciiStrToLower(unread))) {
      Find(at + unread, Shortened(*other),
           absl::StrCat(Name(kind), " does not read it; move its entries to ", read));
    }
    ReadPolicies(Member(plugin, absl::AsciiStrToLower(read)), kind, at + read);
  }

  void ReadPolicies(const Folded* policies, Plugin kind, const std::string& at) {
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

  void ReadPolicy(const Folded& policy, const std::string& at) {
    const Folded* const value = Member(policy, "value");
    const std::string type = value ? absl::AsciiStrToLower(TextOf(*value, "type")) : "";
    if (!absl::EqualsIgnoreCase(TextOf(policy, "name"), "EndpointPolicy") || type.empty())
      return Find(at, Shortened(policy),
                  "the plugins take entries with name \"EndpointPolicy\" and a value with type");
    const Folded* const given = Member(*value, "settings");
    const Folded settings = given ? *given : Folded::object();
    const std::string shown = Quoted(TextOf(*value, "type"), 60);
    if (type == "outboundnat") {
      nat_ = true;
      const Folded* const list = Member(settings, "exceptions");
      const std::size_t bad = Append(list, excepted_);
      Say(at, shown,
          absl::StrCat("packets of pods leave with the node's address, but not to ",
                       excepted_.empty() ? "anything" : List(excepted_)),
          Member(*value, "exceptionlist")
              ? "ExceptionList is of HNS's first schema; write Settings with Exceptions"
          : bad != 0 ? "an exception is no CIDR, as 10.244.0.0/16"
                     : "");
    } else if (type == "sdnroute" || type == "route") {
      const std::string text = TextOf(settings, "destinationprefix");
      const auto prefix = IpPrefix::Parse(text);
      const Folded* const encap = Member(settings, "needencap");
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
      const Folded* const overhead = Member(settings, "overhead");
      Say(at, shown,
          "HNS lowers the MTU of pods by Overhead, where it does (unproven on real Windows)",
          overhead && overhead->is_number_unsigned() ? "" : "Overhead is no number; write 50");
    } else {
      Say(at, shown, "passed to HNS as it is; not checked");
    }
  }

  // How many entries of `list` are no prefixes.
  static std::size_t Append(const Folded* list, std::vector<IpPrefix>& out) {
    if (!list || !list->is_array()) return 1;
    std::size_t bad = 0;
    for (const Folded& each : *list) {
      const auto prefix =
          each.is_string() ? IpPrefix::Parse(each.get<std::string>()) : std::nullopt;
      if (prefix)
        out.push_back(*prefix);
      else
        ++bad;
    }
    return bad;
  }

  void ReadIpam(const Folded& plugin, Plugin kind, const std::string& at) {
    const Folded* const ipam = Member(plugin, "ipam");
    const std::string type = ipam ? TextOf(*ipam, "type") : "";
    if (type != "host-local") {
      return Say(at + "ipam.type", Quoted(type, 60),
                 type.empty() ? "" : "another program; its members are not checked",
                 type.empty() ? "nothing gives pods their addresses; write host-local" : "");
    }
    Say(at + "ipam.type", "\"host-local\"", "gives each pod a free address of the subnet");
    const Folded* const ranges = Member(*ipam, "ranges");
    const bool listed = ranges && ranges->is_array() && !ranges->empty() &&
                        (*ranges)[0].is_array() && !(*ranges)[0].empty();
    const Folded& range = listed ? (*ranges)[0][0] : *ipam;
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
    const Folded* const folder = Member(*ipam, "datadir");
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

std::string_view Name(Plugin plugin) {
  switch (plugin) {
    case Plugin::kWinOverlay:
      return "win-overlay";
    case Plugin::kSdnOverlay:
      return "sdnoverlay";
    case Plugin::kWinBridge:
      return "win-bridge";
  }
  return "";
}

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

absl::StatusOr<std::vector<Remark>> ExplainConfig(std::string_view text, const NodeFacts& facts) {
  const absl::StatusOr<Folded> root = control::ParseFolded(text);
  if (!root.ok()) return root.status();
  if (!root->is_object()) return absl::InvalidArgumentError("it is no JSON object");
  Reader reader(facts);
  reader.Read(*root);
  return reader.Take();
}

std::vector<std::string> PluginsOf(std::string_view text) {
  const absl::StatusOr<Folded> root = control::ParseFolded(text);
  std::vector<std::string> names;
  const auto add = [&names](const Folded& object) {
    const std::string type = TextOf(object, "type");
    if (!type.empty() && std::ranges::find(names, type) == names.end()) names.push_back(type);
  };
  if (!root.ok()) return names;
  const Folded* const plugins = Member(*root, "plugins");
  const Folded list = plugins && plugins->is_array() ? *plugins : Folded::array({*root});
  for (const Folded& plugin : list) {
    add(plugin);
    if (const Folded* const delegate = Member(plugin, "delegate")) add(*delegate);
    if (const Folded* const ipam = Member(plugin, "ipam"))
      add(*ipam);
    else if (TextOf(plugin, "type") == kFlannel)
      add({{"type", "host-local"}});
  }
  return names;
}

}  // namespace weft::cni
