// SPDX-License-Identifier: Apache-2.0
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "control/host/forwarding_linux.h"
#include "control/host/host.h"
#include "control/host/name_servers_linux.h"
#include "control/host/netlink_linux.h"
#include "control/host/route_message_linux.h"
#include "control/host/watch_linux.h"

namespace weft::host {
namespace {

// The kernel's metric for an IPv6 route without one (IP6_RT_PRIO_USER).
constexpr std::uint32_t kDefaultMetricV6 = 1024;

unsigned char FamilyNumber(IpFamily family) { return family == IpFamily::kV4 ? AF_INET : AF_INET6; }

std::optional<IpFamily> FamilyOf(unsigned char number) {
  if (number == AF_INET) return IpFamily::kV4;
  if (number == AF_INET6) return IpFamily::kV6;
  return std::nullopt;
}

// "cannot WHAT: Operation not permitted (kernel's detail); NEXT STEP".
absl::Status StatusOf(const NetlinkAnswer& answer, std::string_view what) {
  if (answer.error == 0) return absl::OkStatus();
  std::string message = absl::StrCat("cannot ", what, ": ", std::strerror(answer.error));
  if (!answer.detail.empty()) absl::StrAppend(&message, " (", answer.detail, ")");
  if (answer.error == EPERM) absl::StrAppend(&message, "; run as root or with CAP_NET_ADMIN");
  return absl::Status(absl::ErrnoToStatusCode(answer.error), message);
}

std::string Text(const Route& route) {
  std::string text = absl::StrCat("route ", route.destination.ToString());
  if (route.gateway) absl::StrAppend(&text, " via ", route.gateway->ToString());
  absl::StrAppend(&text, " on adapter ", route.adapter_index);
  return text;
}

// The adapter of a link message, or nothing for other messages.
std::optional<Adapter> AdapterOf(const nlmsghdr& message) {
  if (message.nlmsg_type != RTM_NEWLINK) return std::nullopt;
  const auto* link = static_cast<const ifinfomsg*>(mnl_nlmsg_get_payload(&message));
  const NetlinkAttributes<IFLA_MTU> attributes(message, sizeof *link);
  Adapter adapter;
  adapter.index = static_cast<std::uint32_t>(link->ifi_index);
  if (attributes[IFLA_IFNAME]) adapter.name = mnl_attr_get_str(attributes[IFLA_IFNAME]);
  adapter.mtu = attributes.U32(IFLA_MTU);
  adapter.up = (link->ifi_flags & IFF_UP) != 0;
  adapter.link = (link->ifi_flags & IFF_LOWER_UP) != 0;
  adapter.loopback = (link->ifi_flags & IFF_LOOPBACK) != 0;
  const nlattr* mac = attributes[IFLA_ADDRESS];
  if (mac && mnl_attr_get_payload_len(mac) == MacAddress::kSize)
    adapter.mac = MacAddress::FromBytes(static_cast<const std::byte*>(mnl_attr_get_payload(mac)));
  return adapter;
}

struct AddressEntry {
  std::uint32_t adapter_index = 0;
  bool temporary = false;  // a privacy address
  AssignedAddress assigned;
};

std::optional<AddressEntry> AddressEntryOf(const nlmsghdr& message) {
  if (message.nlmsg_type != RTM_NEWADDR) return std::nullopt;
  const auto* header = static_cast<const ifaddrmsg*>(mnl_nlmsg_get_payload(&message));
  const std::optional<IpFamily> family = FamilyOf(header->ifa_family);
  if (!family) return std::nullopt;
  const NetlinkAttributes<IFA_FLAGS> attributes(message, sizeof *header);
  // On a point-to-point link IFA_ADDRESS is the other end's.
  std::optional<IpAddress> address = AddressOf(attributes[IFA_LOCAL], *family);
  if (!address) address = AddressOf(attributes[IFA_ADDRESS], *family);
  const std::uint32_t flags = attributes.U32(IFA_FLAGS, header->ifa_flags);
  if (!address || (flags & IFA_F_DADFAILED)) return std::nullopt;
  return AddressEntry{header->ifa_index,
                      *family == IpFamily::kV6 && (flags & IFA_F_TEMPORARY),
                      {*address, header->ifa_prefixlen, (flags & IFA_F_DEPRECATED) != 0}};
}

}  // namespace

std::vector<Route> RoutesOf(const nlmsghdr& message) {
  if (message.nlmsg_type != RTM_NEWROUTE && message.nlmsg_type != RTM_DELROUTE) return {};
  const auto* header = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&message));
  const std::optional<IpFamily> family = FamilyOf(header->rtm_family);
  if (!family) return {};
  const NetlinkAttributes<RTA_TABLE> attributes(message, sizeof *header);

  Route route;
  const IpAddress zero = *family == IpFamily::kV4 ? IpAddress() : *IpAddress::Parse("::");
  const auto destination =
      IpPrefix::From(AddressOf(attributes[RTA_DST], *family).value_or(zero), header->rtm_dst_len);
  if (!destination) return {};
  route.destination = *destination;
  route.gateway = AddressOf(attributes[RTA_GATEWAY], *family);
  route.adapter_index = attributes.U32(RTA_OIF);
  route.onlink = (header->rtm_flags & RTNH_F_ONLINK) != 0;
  route.metric = attributes.U32(RTA_PRIORITY);
  if (*family == IpFamily::kV6 && route.metric == kDefaultMetricV6) route.metric = 0;
  route.source = AddressOf(attributes[RTA_PREFSRC], *family);
  route.marked = header->rtm_protocol == kRouteMark;
  route.claimed = !route.marked && header->rtm_protocol != RTPROT_BOOT;
  if (header->rtm_protocol == RTPROT_KERNEL) route.kind = RouteKind::kDerived;
  if (header->rtm_type != RTN_UNICAST) {
    route.kind = RouteKind::kUnreachable;
    route.adapter_index = 0;  // for IPv6 the kernel returns the loopback
    return {route};
  }
  if (!attributes[RTA_MULTIPATH]) return {route};

  std::vector<Route> routes;
  const auto* bytes = static_cast<const char*>(mnl_attr_get_payload(attributes[RTA_MULTIPATH]));
  std::size_t left = mnl_attr_get_payload_len(attributes[RTA_MULTIPATH]);
  while (left >= sizeof(rtnexthop)) {
    const auto* hop = reinterpret_cast<const rtnexthop*>(bytes);
    if (hop->rtnh_len < sizeof(rtnexthop) || hop->rtnh_len > left) break;
    const NetlinkAttributes<RTA_GATEWAY> inner(bytes + sizeof(rtnexthop),
                                               hop->rtnh_len - sizeof(rtnexthop));
    Route one = route;
    one.gateway = AddressOf(inner[RTA_GATEWAY], *family);
    one.adapter_index = static_cast<std::uint32_t>(hop->rtnh_ifindex);
    one.onlink = (hop->rtnh_flags & RTNH_F_ONLINK) != 0;
    routes.push_back(one);
    const std::size_t step = std::min<std::size_t>(RTNH_ALIGN(hop->rtnh_len), left);
    bytes += step;
    left -= step;
  }
  return routes;
}

bool IsOfMainTable(const nlmsghdr& message) {
  const auto* header = static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&message));
  const NetlinkAttributes<RTA_TABLE> attributes(message, sizeof *header);
  return attributes.U32(RTA_TABLE, header->rtm_table) == RT_TABLE_MAIN &&
         !(header->rtm_flags & RTM_F_CLONED);
}

namespace {

NetlinkRequest RouteRequest(std::uint16_t type, std::uint16_t flags, const Route& route) {
  NetlinkRequest request(type, flags);
  auto* header = request.Extra<rtmsg>();
  header->rtm_family = FamilyNumber(route.destination.family());
  header->rtm_dst_len = static_cast<unsigned char>(route.destination.length());
  header->rtm_table = RT_TABLE_MAIN;
  if (type == RTM_NEWROUTE) {
    // Unmarked: as upstream's. Not "static", which network managers treat as theirs.
    header->rtm_protocol = route.marked ? kRouteMark : RTPROT_BOOT;
    header->rtm_type = RTN_UNICAST;
  } else if (route.marked) {
    header->rtm_protocol = kRouteMark;  // keeps a foreign route that is otherwise equal
  }
  // A delete matches any scope only when it names "nowhere".
  header->rtm_scope =
      type == RTM_DELROUTE ? RT_SCOPE_NOWHERE : (route.gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK);
  if (route.onlink) header->rtm_flags |= RTNH_F_ONLINK;
  request.Put(RTA_DST, route.destination.base());
  if (route.gateway) request.Put(RTA_GATEWAY, *route.gateway);
  if (route.source) request.Put(RTA_PREFSRC, *route.source);
  if (route.metric != 0) request.Put(RTA_PRIORITY, route.metric);
  request.Put(RTA_OIF, route.adapter_index);
  return request;
}

// Changes an existing link; sets `flags`.
NetlinkRequest LinkRequest(std::uint32_t adapter_index, unsigned flags = 0) {
  NetlinkRequest request(RTM_NEWLINK, 0);
  auto* header = request.Extra<ifinfomsg>();
  header->ifi_index = static_cast<int>(adapter_index);
  header->ifi_flags = flags;
  header->ifi_change = flags;
  return request;
}

class LinuxHost final : public Host {
 public:
  explicit LinuxHost(NetlinkSocket socket) : socket_(std::move(socket)) {}

  absl::StatusOr<std::vector<Adapter>> Adapters() override {
    std::vector<Adapter> adapters;
    NetlinkRequest links(RTM_GETLINK, 0);
    links.Extra<ifinfomsg>();
    absl::Status status = socket_.Dump(
        links, [&] { adapters.clear(); },
        [&](const nlmsghdr& message) {
          if (auto adapter = AdapterOf(message)) adapters.push_back(std::move(*adapter));
        });
    if (!status.ok()) return status;

    std::vector<AddressEntry> entries;
    NetlinkRequest addresses(RTM_GETADDR, 0);
    addresses.Extra<ifaddrmsg>();
    status = socket_.Dump(
        addresses, [&] { entries.clear(); },
        [&](const nlmsghdr& message) {
          if (auto entry = AddressEntryOf(message)) entries.push_back(*entry);
        });
    if (!status.ok()) return status;
    std::stable_partition(entries.begin(), entries.end(), [](const AddressEntry& e) {
      return !e.temporary && !e.assigned.deprecated;
    });
    for (Adapter& adapter : adapters) {
      for (const AddressEntry& entry : entries)
        if (entry.adapter_index == adapter.index) adapter.addresses.push_back(entry.assigned);
    }
    return adapters;
  }

  absl::StatusOr<std::vector<Route>> Routes(IpFamily family, std::uint32_t adapter_index) override {
    std::vector<Route> routes;
    NetlinkRequest request(RTM_GETROUTE, 0);
    request.Extra<rtmsg>()->rtm_family = FamilyNumber(family);
    const absl::Status status = socket_.Dump(
        request, [&] { routes.clear(); },
        [&](const nlmsghdr& message) {
          if (!IsOfMainTable(message)) return;
          for (const Route& route : RoutesOf(message))
            if (adapter_index == 0 || route.adapter_index == adapter_index) routes.push_back(route);
        });
    if (!status.ok()) return status;
    return routes;
  }

  absl::StatusOr<std::vector<IpAddress>> NameServers() override { return ReadNameServers(); }

  absl::StatusOr<Route> RouteTo(const IpAddress& destination) override {
    NetlinkRequest request(RTM_GETROUTE, 0);
    auto* header = request.Extra<rtmsg>();
    header->rtm_family = FamilyNumber(destination.family());
    header->rtm_dst_len = static_cast<unsigned char>(destination.bits());
    request.Put(RTA_DST, destination);
    std::optional<Route> found;
    NetlinkAnswer answer = socket_.Query(request, [&](const nlmsghdr& message) {
      for (const Route& route : RoutesOf(message))
        if (route.kind != RouteKind::kUnreachable) found = route;
    });
    if (answer.error == 0 && !found)
      answer.error = ENETUNREACH;  // a blackhole route, or one of our own addresses
    const absl::Status status =
        StatusOf(answer, absl::StrCat("find a route to ", destination.ToString()));
    if (!status.ok()) return status;
    return *found;
  }

  absl::Status SetLinkUp(std::uint32_t adapter_index, std::uint32_t mtu) override {
    // No link-local address and so no router solicitation, which no node on a tunnel would answer.
    // A separate message, because the kernel sets a link up before it reads this attribute; a
    // kernel without IPv6 refuses it.
    NetlinkRequest quiet = LinkRequest(adapter_index);
    nlattr* families = mnl_attr_nest_start(quiet.header(), IFLA_AF_SPEC);
    nlattr* v6 = mnl_attr_nest_start(quiet.header(), AF_INET6);
    mnl_attr_put_u8(quiet.header(), IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
    mnl_attr_nest_end(quiet.header(), v6);
    mnl_attr_nest_end(quiet.header(), families);

    NetlinkRequest up = LinkRequest(adapter_index, IFF_UP);
    up.Put(IFLA_MTU, mtu);
    std::array<NetlinkRequest, 2> requests = {quiet, up};
    return StatusOf(socket_.Change(requests).back(),
                    absl::StrCat("set adapter ", adapter_index, " up with MTU ", mtu));
  }

  absl::Status AddAddress(std::uint32_t adapter_index, const AssignedAddress& address) override {
    NetlinkRequest request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
    auto* header = request.Extra<ifaddrmsg>();
    header->ifa_family = FamilyNumber(address.address.family());
    header->ifa_prefixlen = static_cast<unsigned char>(address.prefix_length);
    header->ifa_scope = RT_SCOPE_UNIVERSE;
    header->ifa_index = adapter_index;
    request.Put(IFA_LOCAL, address.address);
    request.Put(IFA_ADDRESS, address.address);
    // A tunnel has no duplicate address detection, and its routes are put explicitly.
    if (!address.address.is_v4()) request.Put(IFA_FLAGS, IFA_F_NODAD | IFA_F_NOPREFIXROUTE);
    const NetlinkAnswer answer = One(request);
    if (answer.error == EEXIST) return absl::OkStatus();
    return StatusOf(answer, absl::StrCat("give ", address.address.ToString(), "/",
                                         address.prefix_length, " to adapter ", adapter_index));
  }

  std::vector<absl::Status> PutRoutes(const std::vector<Route>& routes) override {
    return ChangeRoutes(routes, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, "put ", 0);
  }

  std::vector<absl::Status> ReplaceRoutes(const std::vector<Route>& routes) override {
    return ChangeRoutes(routes, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, "put ", 0);
  }

  std::vector<absl::Status> RemoveRoutes(const std::vector<Route>& routes) override {
    return ChangeRoutes(routes, RTM_DELROUTE, 0, "remove ", ESRCH);
  }

  absl::Status SetForwarding(std::uint32_t adapter_index, IpFamily family, bool on) override {
    return host::SetForwarding(adapter_index, family, on);
  }
  absl::StatusOr<bool> Forwarding(std::uint32_t adapter_index, IpFamily family) override {
    return host::Forwarding(adapter_index, family);
  }
  absl::StatusOr<std::string> AllowUdpIn(const FirewallRule& rule) override {
    return absl::UnimplementedError(absl::StrCat("firewall rule ", rule.name,
                                                 ": rules have no names on Linux; allow UDP ",
                                                 rule.port, " with the firewall's own tool"));
  }
  absl::StatusOr<RuleOwner> FindFirewallRule(const std::string& name) override {
    return NoNamedRules(name);
  }
  absl::Status RemoveFirewallRule(const std::string& name) override { return NoNamedRules(name); }
  absl::StatusOr<std::unique_ptr<Watch>> WatchChanges(std::function<void()> changed) override {
    return NetlinkWatch::Open(std::move(changed), socket_.port());
  }
  absl::StatusOr<std::unique_ptr<Watch>> WatchRoutes(
      std::function<void(const RouteChanges&)> changed) override {
    return NetlinkWatch::OpenRoutes(std::move(changed), socket_.port());
  }

 private:
  static absl::Status NoNamedRules(const std::string& rule) {
    return absl::UnimplementedError(absl::StrCat(
        "firewall rule ", rule, ": rules have no names on Linux; use the firewall's own tool"));
  }
  NetlinkAnswer One(NetlinkRequest& request) { return socket_.Change({&request, 1}).front(); }

  std::vector<absl::Status> ChangeRoutes(const std::vector<Route>& routes, std::uint16_t type,
                                         std::uint16_t flags, std::string_view verb, int harmless) {
    std::vector<NetlinkRequest> requests;
    requests.reserve(routes.size());
    for (const Route& route : routes) requests.push_back(RouteRequest(type, flags, route));
    const std::vector<NetlinkAnswer> answers = socket_.Change(requests);
    std::vector<absl::Status> statuses(routes.size());
    for (std::size_t i = 0; i < routes.size(); ++i) {
      if (answers[i].error != harmless)
        statuses[i] = StatusOf(answers[i], absl::StrCat(verb, Text(routes[i])));
    }
    return statuses;
  }

  NetlinkSocket socket_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Host>> OpenHost() {
  absl::StatusOr<NetlinkSocket> socket = NetlinkSocket::Open();
  if (!socket.ok()) return socket.status();
  return std::make_unique<LinuxHost>(*std::move(socket));
}

}  // namespace weft::host
