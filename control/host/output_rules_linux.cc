// SPDX-License-Identifier: Apache-2.0
#include "control/host/output_rules_linux.h"

#include <arpa/inet.h>
#include <linux/fib_rules.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "control/host/netlink_linux.h"

namespace weft::host {
namespace {

// iptables-legacy reports no changes.
constexpr int kLegacyPollMilliseconds = 1000;
// Between two readings while rules keep changing.
constexpr std::chrono::milliseconds kPause{200};

// proc(5): the tables of iptables-legacy that this network namespace has.
std::string LegacyTables(IpFamily family) {
  std::ifstream in(family == IpFamily::kV4 ? "/proc/self/net/ip_tables_names"
                                           : "/proc/self/net/ip6_tables_names");
  std::stringstream names;
  names << in.rdbuf();
  return absl::StrReplaceAll(absl::StripAsciiWhitespace(names.str()), {{"\n", ", "}});
}

std::string JudgeLegacy(IpFamily family) {
  const std::string tables = LegacyTables(family);
  if (tables.empty()) return "";
  const char* const program = family == IpFamily::kV4 ? "iptables" : "ip6tables";
  return absl::StrCat("the host has tables of ", program, "-legacy (", tables,
                      "), whose rules are not examined; use ", program, "-nft");
}

// Linux creates these: ip-rule(8).
bool IsDefaultRule(std::uint32_t priority, std::uint32_t table, std::uint8_t action) {
  if (action != FR_ACT_TO_TBL) return false;
  return (priority == 0 && table == RT_TABLE_LOCAL) ||
         (priority == 32766 && table == RT_TABLE_MAIN) ||
         (priority == 32767 && table == RT_TABLE_DEFAULT);
}

absl::StatusOr<std::string> JudgeRoutingRules(IpFamily family) {
  absl::StatusOr<NetlinkSocket> socket = NetlinkSocket::Open();
  if (!socket.ok()) return socket.status();
  NetlinkRequest request(RTM_GETRULE, 0);
  request.Extra<fib_rule_hdr>()->family =
      static_cast<std::uint8_t>(family == IpFamily::kV4 ? AF_INET : AF_INET6);
  std::optional<std::uint32_t> found;
  const absl::Status status = socket->Dump(
      request, [&] { found.reset(); },
      [&](const nlmsghdr& message) {
        const auto* rule = static_cast<const fib_rule_hdr*>(mnl_nlmsg_get_payload(&message));
        const NetlinkAttributes<FRA_MAX> attributes(message, sizeof *rule);
        const std::uint32_t priority = attributes.U32(FRA_PRIORITY);
        if (!IsDefaultRule(priority, attributes.U32(FRA_TABLE, rule->table), rule->action))
          found = found.value_or(priority);
      });
  if (!status.ok()) return status;
  if (!found) return std::string();
  return absl::StrCat("the host has a routing rule of priority ", *found, " (ip ",
                      family == IpFamily::kV4 ? "" : "-6 ",
                      "rule), which could route packets to other nodes; delete it if no program "
                      "needs it");
}

absl::StatusOr<std::string> JudgeIpsec() {
  absl::StatusOr<NetlinkSocket> socket = NetlinkSocket::Open(NETLINK_XFRM);
  if (absl::IsUnimplemented(socket.status())) return std::string();  // a kernel without xfrm
  if (!socket.ok()) return socket.status();
  for (const auto& [type, command] : {std::pair(XFRM_MSG_GETPOLICY, "ip xfrm policy"),
                                      std::pair(XFRM_MSG_GETSA, "ip xfrm state")}) {
    bool some = false;
    const absl::Status status = socket->Dump(
        NetlinkRequest(static_cast<std::uint16_t>(type), 0), [&] { some = false; },
        [&](const nlmsghdr&) { some = true; });
    if (!status.ok()) return status;
    if (some) {
      return absl::StrCat("the host has IPsec configured (", command,
                          "), which could concern packets to other nodes");
    }
  }
  NetlinkRequest request(XFRM_MSG_GETDEFAULT, 0);
  request.Extra<xfrm_userpolicy_default>();
  bool blocks = false;
  (void)socket->Query(request, [&](const nlmsghdr& message) {
    const auto* answer =
        static_cast<const xfrm_userpolicy_default*>(mnl_nlmsg_get_payload(&message));
    blocks = answer->out == XFRM_USERPOLICY_BLOCK;
  });
  return std::string(blocks ? "IPsec's default is to block packets out (ip xfrm policy getdefault)"
                            : "");
}

absl::StatusOr<std::string> JudgeNft(const OutputPackets& packets) {
  absl::StatusOr<NfTables> nft = NfTables::Open();
  if (absl::IsUnimplemented(nft.status())) return std::string();  // a kernel without netfilter
  if (!nft.ok()) return nft.status();
  const absl::StatusOr<std::vector<NftChainInfo>> chains = nft->Chains();
  if (!chains.ok()) return chains.status();
  return FindNftOutputRule(packets, *chains, [&](const NftChainInfo& chain) {
    // As much as fits NetlinkRequest.
    if (chain.table.size() + chain.name.size() > 192)
      return absl::StatusOr<std::vector<NftRule>>(
          absl::UnimplementedError(absl::StrCat("the name of chain ", chain.name, " is too long")));
    return nft->Rules({chain.family, chain.table.c_str(), chain.name.c_str()});
  });
}

// Discards what waits; the messages only report that something changed.
void Discard(int socket) {
  std::array<char, 8192> buffer;
  while (::recv(socket, buffer.data(), buffer.size(), MSG_DONTWAIT) >= 0 || errno == ENOBUFS ||
         errno == EINTR) {
  }
}

// -1 and errno: not possible.
int OpenListener(int protocol, const std::vector<int>& groups) {
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
  if (socket < 0) return -1;
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  bool ok = ::bind(socket, reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0;
  for (const int group : groups) {
    ok = ok && ::setsockopt(socket, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) == 0;
  }
  if (ok) return socket;
  const int error = errno;
  ::close(socket);
  errno = error;
  return -1;
}

}  // namespace

absl::StatusOr<std::string> FindOutputRule(const OutputPackets& packets) {
  absl::StatusOr<std::string> found = JudgeRoutingRules(packets.family);
  if (found.ok() && found->empty()) found = JudgeIpsec();
  if (found.ok() && found->empty()) found = JudgeLegacy(packets.family);
  if (found.ok() && found->empty()) found = JudgeNft(packets);
  return found;
}

OutputWatch::OutputWatch(OutputPackets packets, Handlers handlers)
    : packets_(std::move(packets)), handlers_(std::move(handlers)) {}

absl::StatusOr<std::unique_ptr<OutputWatch>> OutputWatch::Open(OutputPackets packets,
                                                               Handlers handlers) {
  std::unique_ptr<OutputWatch> watch(new OutputWatch(std::move(packets), std::move(handlers)));
  if (absl::Status status = watch->Listen(); !status.ok()) return status;
  watch->thread_ = std::thread([raw = watch.get()] { raw->Run(); });
  return watch;
}

absl::Status OutputWatch::Listen() {
  stop_ = ::eventfd(0, EFD_CLOEXEC);
  routes_ = OpenListener(NETLINK_ROUTE, {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
                                         RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE});
  const int rules = OpenListener(NETLINK_ROUTE, {RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE});
  if (rules >= 0) rules_.push_back(rules);
  if (stop_ < 0 || routes_ < 0 || rules < 0)
    return absl::ErrnoToStatus(errno, "cannot listen to changes of rules and routes");
  const std::pair<int, std::vector<int>> optional[] = {
      {NETLINK_NETFILTER, {NFNLGRP_NFTABLES}}, {NETLINK_XFRM, {XFRMNLGRP_POLICY, XFRMNLGRP_SA}}};
  for (const auto& [protocol, groups] : optional) {
    const int socket = OpenListener(protocol, groups);
    if (socket >= 0) {
      rules_.push_back(socket);
    } else if (errno != EPROTONOSUPPORT) {
      return absl::ErrnoToStatus(errno, "cannot listen to changes of packet filter and IPsec");
    }
  }
  return absl::OkStatus();
}

OutputWatch::~OutputWatch() {
  if (stop_ >= 0) ::eventfd_write(stop_, 1);
  if (thread_.joinable()) thread_.join();
  for (const int each : rules_) ::close(each);
  for (const int each : {routes_, stop_}) {
    if (each >= 0) ::close(each);
  }
}

void OutputWatch::Judge() {
  legacy_ = LegacyTables(packets_.family);
  const absl::StatusOr<std::string> found = FindOutputRule(packets_);
  handlers_.judged(found.ok() ? *found
                              : absl::StrCat("the host's rules for outgoing packets cannot be "
                                             "read: ",
                                             found.status().message()));
}

void OutputWatch::Run() {
  std::vector<pollfd> ready = {{stop_, POLLIN, 0}, {routes_, POLLIN, 0}};
  for (const int each : rules_) ready.push_back({each, POLLIN, 0});
  Judge();
  for (;;) {
    if (::poll(ready.data(), ready.size(), kLegacyPollMilliseconds) < 0 && errno != EINTR) return;
    if (ready[0].revents != 0) return;
    if (ready[1].revents != 0) {
      Discard(routes_);
      handlers_.routed();
    }
    bool changed = LegacyTables(packets_.family) != legacy_;
    for (std::size_t i = 2; i < ready.size(); ++i) changed = changed || ready[i].revents != 0;
    if (!changed) continue;
    handlers_.changed();
    pollfd stop = {stop_, POLLIN, 0};
    if (::poll(&stop, 1, static_cast<int>(kPause.count())) > 0) return;
    for (const int each : rules_) Discard(each);
    Judge();
  }
}

}  // namespace weft::host
