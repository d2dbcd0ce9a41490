// SPDX-License-Identifier: Apache-2.0
// The Linux host against the kernel, in its own network namespace:
//
//   lo                      up by EnterPrivateNetns
//   u0 10.9.0.1/24          veth, MTU 1400, the underlay; its peer p0 is up
//      fd09::1/64
//   t0                      TUN, down: what a tunnel's device is before it is set up
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <initializer_list>
#include <latch>
#include <map>
#include <mutex>
#include <source_location>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/host/host.h"
#include "control/host/kernel_device_linux.h"
#include "control/host/netlink_linux.h"
#include "control/host/nftables_linux.h"
#include "control/host/packet_filter.h"
#include "tests/support/netns.h"
#include "tests/support/test_path.h"
#include "tests/support/wait.h"

namespace weft::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::UnorderedElementsAre;

IpAddress A(std::string_view text) { return *IpAddress::Parse(text); }
IpPrefix P(std::string_view text) { return *IpPrefix::Parse(text); }

// The number that the next socket gets.
int NextDescriptor() {
  const int next = ::dup(STDIN_FILENO);
  ::close(next);
  return next;
}

// While it lives, the process has no descriptors from `end` on.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(int end) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(end);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  ~DescriptorLimit() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

// Sends a datagram to a netlink socket of this process, as if the kernel did.
void Deliver(int descriptor, Bytes bytes) {
  sockaddr_nl to{};
  socklen_t size = sizeof to;
  ASSERT_EQ(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&to), &size), 0);
  int protocol = -1;
  socklen_t length = sizeof protocol;
  ASSERT_EQ(::getsockopt(descriptor, SOL_SOCKET, SO_PROTOCOL, &protocol, &length), 0);
  const int sender = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
  EXPECT_EQ(::sendto(sender, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&to), size),
            static_cast<ssize_t>(bytes.size()))
      << std::strerror(errno);
  ::close(sender);
}

// Messages with the number of the request that each answers.
using Answers = std::vector<std::pair<std::uint32_t, NetlinkRequest>>;
void SendTo(int descriptor, Answers messages) {
  for (auto& [number, message] : messages) {
    message.header()->nlmsg_seq = number;
    Deliver(descriptor, message.bytes());
  }
}

NetlinkRequest Done() {
  NetlinkRequest message(NLMSG_DONE, 0);
  message.Extra<int>();
  return message;
}
NetlinkRequest Error(int error) {
  NetlinkRequest message(NLMSG_ERROR, 0);
  message.Extra<nlmsgerr>()->error = -error;
  return message;
}
NetlinkRequest AddressMessage(std::uint32_t adapter_index, int family, unsigned char flags,
                              const char* address) {
  NetlinkRequest message(RTM_NEWADDR, 0);
  auto* header = message.Extra<ifaddrmsg>();
  header->ifa_family = static_cast<unsigned char>(family);
  header->ifa_prefixlen = 24;
  header->ifa_flags = flags;
  header->ifa_index = adapter_index;
  if (address != nullptr) message.Put(IFA_ADDRESS, A(address));
  return message;
}
NetlinkRequest RouteMessage(std::uint16_t type, int length, unsigned char kind, unsigned flags) {
  NetlinkRequest message(type, 0);
  auto* header = message.Extra<rtmsg>();
  header->rtm_family = AF_INET;
  header->rtm_dst_len = static_cast<unsigned char>(length);
  header->rtm_table = RT_TABLE_MAIN;
  header->rtm_protocol = RTPROT_BOOT;
  header->rtm_type = kind;
  header->rtm_flags = flags;
  if (length > 0) message.Put(RTA_DST, A("10.50.0.0"));
  return message;
}

class LinuxHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(EnterPrivateNetns(), "");
    for (const char* command : {
             "link add u0 mtu 1400 type veth peer name p0",
             "address add 10.9.0.1/24 dev u0",
             "address add fd09::1/64 dev u0 nodad",
             "link set p0 up",
             "link set u0 up",
             "tuntap add dev t0 mode tun",
         }) {
      ASSERT_EQ(RunIp(command), "") << command;
    }
    descriptor_ = NextDescriptor();
    absl::StatusOr<std::unique_ptr<Host>> host = OpenHost();
    ASSERT_TRUE(host.ok()) << host.status();
    host_ = *std::move(host);
  }

  Adapter Named(std::string_view name) {
    const auto adapters = host_->Adapters();
    EXPECT_TRUE(adapters.ok()) << adapters.status();
    for (const Adapter& adapter : *adapters) {
      if (adapter.name == name) return adapter;
    }
    ADD_FAILURE() << "no adapter " << name;
    return {};
  }

  // t0 as the daemon makes it; returns its index.
  std::uint32_t BringUpTunnel(std::uint32_t mtu = 1350) {
    const std::uint32_t index = Named("t0").index;
    EXPECT_TRUE(host_->SetLinkUp(index, mtu).ok());
    EXPECT_TRUE(host_->AddAddress(index, {A("10.244.1.0"), 32}).ok());
    EXPECT_TRUE(host_->AddAddress(index, {A("fd00:244:1::"), 128}).ok());
    return index;
  }

  // Upstream's device route: `S/n via S.0 dev t0 onlink`.
  static Route Onlink(std::string_view subnet, std::uint32_t index) {
    Route route;
    route.destination = P(subnet);
    route.gateway = route.destination.base();
    route.adapter_index = index;
    route.onlink = true;
    return route;
  }
  // Our route: `S/n dev t0 proto 87`.
  static Route Ours(std::string_view subnet, std::uint32_t index) {
    Route route;
    route.destination = P(subnet);
    route.adapter_index = index;
    route.marked = true;
    return route;
  }

  std::vector<Route> AllRoutesOn(std::uint32_t index, IpFamily family = IpFamily::kV4) {
    const auto routes = host_->Routes(family, index);
    EXPECT_TRUE(routes.ok()) << routes.status();
    return routes.value_or(std::vector<Route>());
  }
  std::vector<Route> RoutesOn(std::uint32_t index, IpFamily family = IpFamily::kV4) {
    std::vector<Route> routes = AllRoutesOn(index, family);
    std::erase_if(routes, [](const Route& route) { return route.kind != RouteKind::kPlain; });
    return routes;
  }

  int descriptor_ = -1;  // of the host's socket, which numbers its requests from 1
  std::unique_ptr<Host> host_;
};

void ExpectAllOk(const std::vector<absl::Status>& statuses, std::size_t count) {
  EXPECT_EQ(statuses.size(), count);
  for (const absl::Status& status : statuses) EXPECT_TRUE(status.ok()) << status;
}

// ---- adapters

TEST_F(LinuxHostTest, AnAdapterHasNameStateMtuMacAndAddressesInOrder) {
  ASSERT_EQ(RunIp("link set u0 address 02:00:00:00:09:01"), "");
  ASSERT_EQ(RunIp("address add 10.9.1.1/16 dev u0"), "");
  const Adapter adapter = Named("u0");
  EXPECT_TRUE(adapter.up);
  EXPECT_FALSE(adapter.loopback);
  EXPECT_EQ(adapter.mtu, 1400u);
  EXPECT_EQ(adapter.mac.ToString(), "02:00:00:00:09:01");
  std::vector<AssignedAddress> v4;
  for (const AssignedAddress& a : adapter.addresses) {
    if (a.address.is_v4()) v4.push_back(a);
  }
  EXPECT_THAT(v4,
              ElementsAre(AssignedAddress{A("10.9.0.1"), 24}, AssignedAddress{A("10.9.1.1"), 16}));
  EXPECT_THAT(adapter.addresses, IsSupersetOf({AssignedAddress{A("fd09::1"), 64}}));
}

TEST_F(LinuxHostTest, ADeprecatedAddressComesLast) {
  ASSERT_EQ(RunIp("address add fd09::2/64 dev u0 nodad preferred_lft 0"), "");
  ASSERT_EQ(RunIp("address add fd09::3/64 dev u0 nodad"), "");
  EXPECT_EQ(Named("u0").addresses.back(), (AssignedAddress{A("fd09::2"), 64, true}));
}

TEST_F(LinuxHostTest, TheOwnEndOfAPointToPointAddressIsUsed) {
  ASSERT_EQ(RunIp("address add 10.7.0.1 peer 10.7.0.2/32 dev t0"), "");
  EXPECT_THAT(Named("t0").addresses, ElementsAre(AssignedAddress{A("10.7.0.1"), 32}));
}

TEST_F(LinuxHostTest, ALinkIsSetUpWithItsMtuAndWithoutLinkLocalAddress) {
  EXPECT_FALSE(Named("t0").up);
  ASSERT_TRUE(host_->SetLinkUp(Named("t0").index, 1350).ok());
  EXPECT_TRUE(Named("t0").up);
  EXPECT_EQ(Named("t0").mtu, 1350u);
  EXPECT_THAT(Named("t0").addresses, IsEmpty());
}

TEST_F(LinuxHostTest, AnExistingAddressIsNoError) {
  const std::uint32_t index = BringUpTunnel();
  EXPECT_TRUE(host_->AddAddress(index, {A("10.244.1.0"), 32}).ok());
  EXPECT_TRUE(host_->AddAddress(index, {A("fd00:244:1::"), 128}).ok());
  EXPECT_THAT(Named("t0").addresses, UnorderedElementsAre(AssignedAddress{A("10.244.1.0"), 32},
                                                          AssignedAddress{A("fd00:244:1::"), 128}));
}

TEST_F(LinuxHostTest, ErrorsNameTheObjectAndTheCause) {
  const absl::Status up = host_->SetLinkUp(4711, 1350);
  EXPECT_THAT(std::string(up.message()),
              ::testing::StartsWith("cannot set adapter 4711 up with MTU 1350: "));
  const absl::Status address = host_->AddAddress(4711, {A("10.244.1.0"), 32});
  EXPECT_THAT(std::string(address.message()),
              ::testing::StartsWith("cannot give 10.244.1.0/32 to adapter 4711: "));
}

TEST_F(LinuxHostTest, ForwardingOfAMissingAdapterIsAnError) {
  for (const absl::Status& status : {host_->SetForwarding(4711, IpFamily::kV4, true),
                                     host_->Forwarding(4711, IpFamily::kV6).status()})
    EXPECT_THAT(std::string(status.message()), HasSubstr("there is no such adapter"));
  ASSERT_EQ(RunIp("link set t0 mtu 1000"), "");  // too little for IPv6
  EXPECT_THAT(std::string(host_->Forwarding(Named("t0").index, IpFamily::kV6).status().message()),
              HasSubstr("cannot read /proc/sys/net/ipv6/conf/t0/forwarding"));
}

// A bridge's settings have numbers that are a VXLAN device's, too.
TEST_F(LinuxHostTest, AKernelDeviceIsListedWithItsKindAndDeletedIfItExists) {
  ASSERT_EQ(RunIp("link add v0 type vxlan id 7 dstport 8472 dev u0"), "");
  ASSERT_EQ(RunIp("link add b0 type bridge"), "");
  const auto devices = KernelDevices();
  ASSERT_TRUE(devices.ok()) << devices.status();
  std::vector<std::string> texts;
  KernelDevice vxlan;
  for (const KernelDevice& each : *devices) {
    texts.push_back(absl::StrCat(each.name, " ", each.kind, " ", each.vni, " ", each.port));
    if (each.name == "v0") vxlan = each;
  }
  EXPECT_THAT(texts, IsSupersetOf({"v0 vxlan 7 8472", "b0 bridge 0 0", "t0 tun 0 0"}));
  for (int round = 0; round < 2; ++round) EXPECT_EQ(DeleteKernelDevice(vxlan), absl::OkStatus());
  EXPECT_THAT(RunIp("link show v0"), HasSubstr("does not exist"));
}

TEST_F(LinuxHostTest, ADeviceWithoutMacHasNone) {
  EXPECT_TRUE(Named("t0").mac.IsZero());
  EXPECT_FALSE(Named("t0").loopback);
  EXPECT_TRUE(Named("lo").loopback);
}

// Without the right to change anything: what the operator reads.
TEST_F(LinuxHostTest, WithoutTheCapabilityItIsNamed) {
  const std::uint32_t index = Named("t0").index;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    const auto host = OpenHost();
    if (!host.ok() || !(*host)->Adapters().ok()) ::_exit(3);  // reading is free
    const std::vector<absl::Status> refused = {
        (*host)->SetLinkUp(index, 1350),
        (*host)->AddAddress(index, {A("10.244.1.0"), 32}),
        (*host)->PutRoutes({Onlink("10.244.2.0/24", index)}).front(),
        (*host)->RemoveRoutes({Onlink("10.244.2.0/24", index)}).front(),
    };
    for (const absl::Status& status : refused) {
      const bool named = absl::IsPermissionDenied(status) &&
                         status.message().ends_with("; run as root or with CAP_NET_ADMIN");
      if (!named) ::_exit(4);
    }
    KernelDevice device;
    device.index = index;
    ::_exit(absl::StrContains(DeleteKernelDevice(device).message(),
                              "; run as root or with CAP_NET_ADMIN: ")
                ? 0
                : 5);
  }
  int result = -1;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  ASSERT_TRUE(WIFEXITED(result));
  EXPECT_EQ(WEXITSTATUS(result), 0);
}

// ---- rare answers of the kernel

TEST_F(LinuxHostTest, ADumpThatIsRefusedIsAnError) {
  SendTo(descriptor_, {{1, Error(EPERM)}});
  EXPECT_THAT(std::string(host_->Adapters().status().message()),
              HasSubstr("the kernel refused a netlink dump"));
  SendTo(descriptor_, {{2, Error(ENOBUFS)}});
  EXPECT_THAT(std::string(host_->Routes(IpFamily::kV4).status().message()),
              HasSubstr("the kernel refused a netlink dump"));
  SendTo(descriptor_, {{3, Done()}, {4, Error(EPERM)}});
  EXPECT_THAT(std::string(host_->Adapters().status().message()),
              HasSubstr("the kernel refused a netlink dump"))
      << "of the addresses";
}

TEST_F(LinuxHostTest, ADumpThatCannotBeReceivedIsAnError) {
  sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &none};
  ASSERT_EQ(::setsockopt(descriptor_, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
  ASSERT_EQ(::fcntl(descriptor_, F_SETFL, O_NONBLOCK), 0);
  EXPECT_THAT(std::string(host_->Adapters().status().message()),
              HasSubstr("cannot receive from the kernel over netlink"));
}

TEST_F(LinuxHostTest, AnswersToAnEarlierExchangeAreIgnored) {
  SendTo(descriptor_, {{99, Error(EPERM)}, {99, Done()}});
  const std::uint32_t index = Named("t0").index;
  SendTo(descriptor_, {{99, Error(EPERM)}});
  EXPECT_TRUE(host_->AddAddress(index, {A("10.244.1.0"), 32}).ok());
}

TEST_F(LinuxHostTest, AddressesAreThoseOfIpThatMayBeUsed) {
  constexpr std::uint32_t kIndex = 77;
  NetlinkRequest link(RTM_NEWLINK, 0);  // with the address of a GRE tunnel, four bytes
  link.Extra<ifinfomsg>()->ifi_index = kIndex;
  mnl_attr_put_strz(link.header(), IFLA_IFNAME, "gre1");
  link.Put(IFLA_ADDRESS, A("10.9.0.1"));
  NetlinkRequest gone = AddressMessage(kIndex, AF_INET, 0, "10.9.0.3");
  gone.header()->nlmsg_type = RTM_DELADDR;
  SendTo(descriptor_, {{1, link},
                       {1, gone},
                       {1, Done()},
                       {2, gone},
                       {2, AddressMessage(kIndex, AF_PHONET, 0, "10.9.0.2")},
                       {2, AddressMessage(kIndex, AF_INET, 0, nullptr)},
                       {2, AddressMessage(kIndex, AF_INET, 0, "fd09::6")},
                       {2, AddressMessage(kIndex, AF_INET6, IFA_F_DADFAILED, "fd09::7")},
                       {2, AddressMessage(kIndex, AF_INET6, IFA_F_TEMPORARY, "fd09::8")},
                       {2, AddressMessage(kIndex, AF_INET, IFA_F_SECONDARY, "10.9.0.5")},
                       {2, AddressMessage(kIndex, AF_INET6, 0, "fd09::9")},
                       {2, Done()}});
  const auto adapters = host_->Adapters();
  ASSERT_TRUE(adapters.ok()) << adapters.status();
  ASSERT_EQ(adapters->size(), 1u);
  EXPECT_EQ(adapters->front().name, "gre1");
  EXPECT_TRUE(adapters->front().mac.IsZero());
  EXPECT_THAT(adapters->front().addresses,
              ElementsAre(AssignedAddress{A("10.9.0.5"), 24}, AssignedAddress{A("fd09::9"), 24},
                          AssignedAddress{A("fd09::8"), 24}))
      << "a privacy address last";
}

TEST_F(LinuxHostTest, CachedRoutesAndCutOffNextHopsAreNotListed) {
  const auto two_hops = [](unsigned short second_length) {
    const std::array<rtnexthop, 2> hops = {
        {{.rtnh_len = sizeof(rtnexthop), .rtnh_flags = 0, .rtnh_hops = 0, .rtnh_ifindex = 3},
         {.rtnh_len = second_length, .rtnh_flags = 0, .rtnh_hops = 0, .rtnh_ifindex = 4}}};
    NetlinkRequest message = RouteMessage(RTM_NEWROUTE, 16, RTN_UNICAST, 0);
    mnl_attr_put(message.header(), RTA_MULTIPATH, sizeof hops, hops.data());
    return message;
  };
  SendTo(descriptor_, {{1, RouteMessage(RTM_NEWROUTE, 16, RTN_UNICAST, RTM_F_CLONED)},
                       {1, two_hops(200)},
                       {1, two_hops(4)},
                       {1, Done()}});
  std::vector<std::uint32_t> adapters;
  for (const Route& route : RoutesOn(0)) adapters.push_back(route.adapter_index);
  EXPECT_THAT(adapters, ElementsAre(3u, 3u));
}

TEST_F(LinuxHostTest, ABrokenSocketIsAnErrorOfEachCall) {
  const int other = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::dup2(other, descriptor_), descriptor_);
  ::close(other);
  const auto put = host_->PutRoutes({Onlink("10.244.2.0/24", 1), Onlink("10.244.3.0/24", 1)});
  ASSERT_EQ(put.size(), 2u);
  const struct {
    absl::Status status;
    const char* text;
  } rows[] = {
      {host_->Adapters().status(), "cannot send to the kernel over netlink"},
      {host_->Routes(IpFamily::kV4).status(), "cannot send to the kernel over netlink"},
      {host_->RouteTo(A("10.9.0.2")).status(), "Invalid argument"},
      {put[0], "Invalid argument (the netlink exchange broke off)"},
      {put[1], "Invalid argument (the netlink exchange broke off)"},
  };
  for (const auto& row : rows)
    EXPECT_THAT(std::string(row.status.message()), HasSubstr(row.text)) << row.status;
}

// The messages are compared afterwards: UBSan's check of types opens a pipe.
TEST_F(LinuxHostTest, WithoutDescriptorsNothingIsOpened) {
  // UBSan opens a pipe to check an object of a type that it has not met.
  ASSERT_TRUE(OpenHost().ok() && host_->WatchChanges([] {}).ok());
  const int next = NextDescriptor();
  absl::Status opened, watched, listened, listed, deleted;
  {
    const DescriptorLimit none(next);
    opened = OpenHost().status();
    listed = KernelDevices().status();
    deleted = DeleteKernelDevice({});
    watched = host_->WatchChanges([] {}).status();
  }
  {
    const DescriptorLimit one(next + 1);
    auto watch = host_->WatchChanges([] {});
    listened = watch.status();
    if (watch.ok()) (void)watch->release();  // its end would wait forever
  }
  for (const absl::Status& status : {opened, listed, deleted})
    EXPECT_THAT(std::string(status.message()), HasSubstr("cannot open a netlink socket"));
  EXPECT_THAT(std::string(watched.message()),
              HasSubstr("cannot open a netlink socket for changes"));
  EXPECT_THAT(std::string(listened.message()), HasSubstr("cannot listen to the kernel's changes"));
  EXPECT_EQ(NextDescriptor(), next) << "all closed";
}

TEST_F(LinuxHostTest, AnEarlierErrnoIsIgnored) {
  const std::uint32_t index = BringUpTunnel();
  errno = EBUSY;
  const auto watch = host_->WatchChanges([] {});
  EXPECT_TRUE(watch.ok()) << watch.status();
  errno = EBUSY;
  ExpectAllOk(host_->PutRoutes({Onlink("10.244.2.0/24", index)}), 1);
}

// With `lo` alone, which has no changes of its own.
TEST(LinuxHostWatchTest, OnlyDefaultRoutesAreReported) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  const auto host = OpenHost();
  ASSERT_TRUE(host.ok()) << host.status();
  const NetlinkRequest added = RouteMessage(RTM_NEWROUTE, 24, RTN_UNICAST, 0);
  const NetlinkRequest address = AddressMessage(1, AF_INET, 0, "10.9.0.1");
  const struct {
    const char* description;
    std::vector<NetlinkRequest> messages;
    int calls;
  } rows[] = {
      {"a route was added", {added}, 0},
      {"a route was removed", {RouteMessage(RTM_DELROUTE, 24, RTN_UNICAST, 0)}, 0},
      {"a default route to nowhere", {RouteMessage(RTM_NEWROUTE, 0, RTN_BLACKHOLE, 0)}, 0},
      {"a default route was added", {RouteMessage(RTM_NEWROUTE, 0, RTN_UNICAST, 0)}, 1},
      {"a default route was removed", {RouteMessage(RTM_DELROUTE, 0, RTN_UNICAST, 0)}, 1},
      {"an address was added", {address}, 1},
      {"an address, then a route", {address, added}, 1},
  };
  for (const auto& row : rows) {
    const int descriptor = NextDescriptor();
    std::atomic<int> calls = 0;
    auto watch = (*host)->WatchChanges([&] { ++calls; });
    ASSERT_TRUE(watch.ok()) << watch.status();
    std::vector<std::byte> datagram;
    for (const NetlinkRequest& message : row.messages)
      datagram.insert(datagram.end(), message.bytes().begin(), message.bytes().end());
    Deliver(descriptor, datagram);
    char first = 0;
    ASSERT_TRUE(weft::testing::Await(std::chrono::seconds(60), [&] {
      return ::recv(descriptor, &first, sizeof first, MSG_PEEK | MSG_DONTWAIT) < 0;
    })) << row.description;
    watch->reset();  // waits for the call
    EXPECT_EQ(calls, row.calls) << row.description;
  }
}

// It is the only one that the watch reports: the socket has room for a few messages, none of which
// counts, while the first call lasts.
TEST(LinuxHostWatchTest, ALossIsReportedAsAChange) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  const auto host = OpenHost(), other = OpenHost();
  ASSERT_TRUE(host.ok() && other.ok());
  const int descriptor = NextDescriptor();
  std::latch first(1), open(1);
  std::atomic<int> calls = 0;
  auto watch = (*host)->WatchChanges([&] {
    if (++calls == 1) first.count_down();
    open.wait();
  });
  ASSERT_TRUE(watch.ok()) << watch.status();
  SendTo(descriptor, {{0, AddressMessage(1, AF_INET, 0, "10.9.0.1")}});
  first.wait();
  const int room = 1;  // byte; the kernel gives its least
  ASSERT_EQ(::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, sizeof room), 0);
  std::vector<Route> routes(64);
  for (std::size_t i = 0; i < routes.size(); ++i) {
    routes[i].destination = P(absl::StrCat("10.244.", i, ".0/24"));
    routes[i].adapter_index = 1;
  }
  ExpectAllOk((*other)->PutRoutes(routes), routes.size());
  open.count_down();
  EXPECT_TRUE(weft::testing::Await(std::chrono::seconds(60), [&] { return calls == 2; }));
}

// ---- changes of routes

// What a watch of routes reported; waited for, never slept for.
class SeenChanges {
 public:
  void Add(const RouteChanges& changes) {
    const std::lock_guard lock(mutex_);
    if (changes.empty()) seen_.push_back("lost");
    for (const RouteChange& change : changes) {
      seen_.push_back(change.whole_adapter
                          ? absl::StrCat("adapter ", change.route.adapter_index)
                          : absl::StrCat(change.gone ? "- " : "+ ",
                                         change.route.destination.ToString(), " ",
                                         change.route.marked ? "ours" : "of others"));
    }
    came_.notify_all();
  }
  // Everything until `last` arrived, which ends the wait.
  std::vector<std::string> Until(const std::string& last,
                                 std::source_location where = std::source_location::current()) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(weft::testing::Await({std::chrono::seconds(10), where}, came_, lock, [&] {
      return std::find(seen_.begin(), seen_.end(), last) != seen_.end();
    })) << last;
    return std::exchange(seen_, {});
  }
  // Without what the kernel reports of the link, and of its link-local addresses, when it gets to
  // it.
  std::vector<std::string> RoutesUntil(
      const std::string& last, std::source_location where = std::source_location::current()) {
    std::vector<std::string> routes = Until(last, where);
    std::erase_if(routes, [](const std::string& each) {
      return each.starts_with("adapter ") || each.find(" fe80::") != each.npos;
    });
    return routes;
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::string> seen_;
};

TEST(LinuxHostWatchTest, AChangeOfALinkOrAnAddressNamesItsAdapter) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  const auto host = OpenHost();
  ASSERT_TRUE(host.ok()) << host.status();
  const int descriptor = NextDescriptor();
  SeenChanges seen;
  const auto watch = (*host)->WatchRoutes([&](const RouteChanges& changes) { seen.Add(changes); });
  ASSERT_TRUE(watch.ok()) << watch.status();
  int index = 11;  // at the same place in every header
  for (const std::uint16_t type : std::initializer_list<std::uint16_t>{
           RTM_NEWADDR, RTM_DELADDR, RTM_NEWLINK, RTM_DELLINK, RTM_NEWNEIGH, RTM_NEWADDR}) {
    NetlinkRequest message(type, 0);
    message.Extra<ifinfomsg>()->ifi_index = index++;
    SendTo(descriptor, {{0, message}});
  }
  EXPECT_THAT(seen.Until("adapter 16"),
              ElementsAre("adapter 11", "adapter 12", "adapter 13", "adapter 14", "adapter 16"));
}

TEST_F(LinuxHostTest, ForeignChangesOfRoutesAreReportedAndOurOwnAreNot) {
  const std::uint32_t index = BringUpTunnel(), underlay = Named("u0").index;
  SeenChanges seen;
  auto watch = host_->WatchRoutes([&](const RouteChanges& changes) { seen.Add(changes); });
  ASSERT_TRUE(watch.ok()) << watch.status();
  std::vector<Route> ours;
  for (int i = 0; i < 200; ++i) ours.push_back(Ours(absl::StrCat("10.244.", i, ".0/24"), index));
  ExpectAllOk(host_->PutRoutes(ours), ours.size());
  ExpectAllOk(host_->ReplaceRoutes(ours), ours.size());
  ExpectAllOk(host_->RemoveRoutes({ours[0], ours[1]}), 2);
  ASSERT_EQ(RunIp("route del 10.244.2.0/24"), "");
  EXPECT_THAT(seen.RoutesUntil("- 10.244.2.0/24 ours"), ElementsAre("- 10.244.2.0/24 ours"));
  ASSERT_EQ(RunIp("route replace 10.244.3.0/24 via 10.9.0.2 dev u0"), "");
  EXPECT_THAT(seen.RoutesUntil("+ 10.244.3.0/24 of others"),
              ElementsAre("+ 10.244.3.0/24 of others"));
  ASSERT_EQ(RunIp("-6 route add fd00:244:3::/64 via fd09::2 dev u0"), "");
  EXPECT_THAT(seen.RoutesUntil("+ fd00:244:3::/64 of others"),
              ElementsAre("+ fd00:244:3::/64 of others"));
  ASSERT_EQ(RunIp("route add 10.244.250.0/24 dev u0 table 99"), "");
  ASSERT_EQ(RunIp("route flush dev t0"), "");
  const std::vector<std::string> flushed = seen.Until("- 10.244.199.0/24 ours");
  EXPECT_THAT(flushed, ::testing::Contains(::testing::StartsWith("- 10.244.")).Times(196));
  EXPECT_THAT(flushed, ::testing::Each(::testing::Not(HasSubstr("10.244.250.0")))) << "table 99";
  // The kernel reports none of the routes that it removes with a device.
  ASSERT_EQ(RunIp("route add 10.244.4.0/24 via 10.9.0.2 dev u0"), "");
  seen.Until("+ 10.244.4.0/24 of others");
  ASSERT_EQ(RunIp("address del 10.9.0.1/24 dev u0"), "");
  seen.Until(absl::StrCat("adapter ", underlay));
  ASSERT_EQ(RunIp("link set t0 down"), "");
  seen.Until(absl::StrCat("adapter ", index));
}

// poll(2) refuses more descriptors than the process may have open.
TEST_F(LinuxHostTest, AWatchThatCannotWaitReportsALossAndGoesOn) {
  const std::uint32_t index = BringUpTunnel();
  const auto other = OpenHost();
  ASSERT_TRUE(other.ok()) << other.status();
  std::atomic<int> lost = 0, routes = 0;
  auto watch =
      host_->WatchRoutes([&](const RouteChanges& changes) { changes.empty() ? ++lost : ++routes; });
  ASSERT_TRUE(watch.ok()) << watch.status();
  int subnet = 0;
  const auto put = [&] {
    const Route route = Onlink(absl::StrCat("10.244.0.", subnet++ % 256, "/32"), index);
    ExpectAllOk((*other)->ReplaceRoutes({route}), 1);
  };
  {
    const DescriptorLimit one(1);
    put();
    EXPECT_TRUE(weft::testing::Await(std::chrono::seconds(60), [&] { return lost > 0; }));
  }
  routes = 0;
  while (routes == 0) {  // one more loss may be on its way
    const int before = lost;
    put();
    ASSERT_TRUE(weft::testing::Await(std::chrono::seconds(60),
                                     [&] { return routes > 0 || lost > before; }));
  }
  const DescriptorLimit one(1);
  const int before = lost;
  put();
  EXPECT_TRUE(weft::testing::Await(std::chrono::seconds(60), [&] { return lost > before; }));
  watch->reset();  // ends it while it cannot wait
}

TEST_F(LinuxHostTest, MoreChangesThanAreKeptCountAsLost) {
  BringUpTunnel();
  SeenChanges seen;
  std::latch open(1);
  std::promise<void> closed;
  std::once_flag first;
  auto watch = host_->WatchRoutes([&](const RouteChanges& changes) {
    std::call_once(first, [&] { closed.set_value(); });
    open.wait();
    seen.Add(changes);
  });
  ASSERT_TRUE(watch.ok()) << watch.status();
  EXPECT_EQ(RunIp("route add 10.244.2.0/24 dev t0"), "");
  closed.get_future().wait();
  // Each next hop is a change: so many fit the socket's buffer.
  std::string hops;
  for (int i = 0; i < 150; ++i) hops += " nexthop dev t0";
  const std::string commands = weft::testing::TestPath().string();
  std::ofstream batch(commands);
  for (int i = 0; i < 600; ++i)
    batch << "route add 10." << 128 + i / 256 << "." << i % 256 << ".0/24" << hops << "\n";
  batch.close();
  EXPECT_EQ(RunIp("-batch " + commands), "");
  open.count_down();
  const std::vector<std::string> changes = seen.Until("lost");
  EXPECT_THAT(changes, ::testing::Each(::testing::Not(HasSubstr("10.128."))));
  EXPECT_EQ(RunIp("route flush dev t0 table main"), "");
  std::filesystem::remove(commands);
}

// ---- routes

TEST_F(LinuxHostTest, ADeviceRouteIsReadBackUnchanged) {
  const std::uint32_t index = BringUpTunnel();
  const std::vector<Route> v4 = {Onlink("10.244.2.0/24", index), Ours("10.244.3.0/25", index)};
  const std::vector<Route> v6 = {Onlink("fd00:244:2::/64", index), Ours("fd00:244:3::/64", index)};
  ExpectAllOk(host_->PutRoutes(v4), 2);
  ExpectAllOk(host_->PutRoutes(v6), 2);
  EXPECT_THAT(RoutesOn(index), ::testing::UnorderedElementsAreArray(v4));
  EXPECT_THAT(RoutesOn(index, IpFamily::kV6), ::testing::UnorderedElementsAreArray(v6));
}

TEST_F(LinuxHostTest, RoutesDerivedFromAddressesAreDistinguished) {
  const std::vector<Route> derived = AllRoutesOn(Named("u0").index);
  ASSERT_EQ(derived.size(), 1u);
  EXPECT_EQ(derived[0].destination, P("10.9.0.0/24"));
  EXPECT_EQ(derived[0].kind, RouteKind::kDerived);
  EXPECT_TRUE(derived[0].claimed);
  EXPECT_THAT(RoutesOn(Named("u0").index, IpFamily::kV6), IsEmpty());
  const std::uint32_t index = BringUpTunnel();
  EXPECT_THAT(RoutesOn(index), IsEmpty());
  EXPECT_THAT(RoutesOn(index, IpFamily::kV6), IsEmpty());
}

TEST_F(LinuxHostTest, OnlyTheMainTableIsListed) {
  const std::uint32_t index = BringUpTunnel();
  ASSERT_EQ(RunIp("route add 10.244.9.0/24 dev t0 table 99"), "");
  EXPECT_THAT(RoutesOn(index), IsEmpty());
  EXPECT_THAT(RoutesOn(0), IsEmpty());
}

// The link's own, an administrator's, one to nowhere: of a peer's very prefix.
TEST_F(LinuxHostTest, AddingOverwritesNothing) {
  const std::uint32_t index = BringUpTunnel();
  for (const char* there :
       {"route add 10.244.2.0/24 dev u0", "route add blackhole 10.244.2.0/24",
        "route add 10.244.2.0/24 via 10.9.0.2 dev u0 proto static",
        "-6 route add fd00:244:2::/64 dev u0", "-6 route add blackhole fd00:244:2::/64"}) {
    const bool v4 = there[0] == 'r';
    const IpFamily family = v4 ? IpFamily::kV4 : IpFamily::kV6;
    const Route ours = Ours(v4 ? "10.244.2.0/24" : "fd00:244:2::/64", index);
    ASSERT_EQ(RunIp(there), "");
    const std::vector<Route> before = AllRoutesOn(0, family);
    const absl::Status refused = host_->PutRoutes({ours}).front();
    EXPECT_TRUE(absl::IsAlreadyExists(refused)) << there << ": " << refused;
    EXPECT_EQ(AllRoutesOn(0, family), before) << there;
    ExpectAllOk(host_->ReplaceRoutes({ours}), 1);
    EXPECT_THAT(RoutesOn(0, family), ElementsAre(ours)) << there;
    ExpectAllOk(host_->RemoveRoutes({ours}), 1);
  }
  const Route link = Ours("10.9.0.0/24", index);
  EXPECT_TRUE(absl::IsAlreadyExists(host_->PutRoutes({link}).front()));
  EXPECT_EQ(AllRoutesOn(Named("u0").index).size(), 1u) << "the underlay's own";
}

TEST_F(LinuxHostTest, TheProtocolOfARouteIsRead) {
  const std::uint32_t index = Named("u0").index;
  const struct {
    const char* protocol;
    bool marked, claimed;
  } rows[] = {{"boot", false, false}, {"87", true, false},   {"static", false, true},
              {"bird", false, true},  {"dhcp", false, true}, {"0", false, true}};
  for (const auto& row : rows) {
    ASSERT_EQ(RunIp(absl::StrCat("route add 10.244.2.0/24 via 10.9.0.2 proto ", row.protocol)), "");
    const std::vector<Route> routes = RoutesOn(index);
    ASSERT_EQ(routes.size(), 1u) << row.protocol;
    EXPECT_EQ(routes[0].marked, row.marked) << row.protocol;
    EXPECT_EQ(routes[0].claimed, row.claimed) << row.protocol;
    ASSERT_EQ(RunIp("route del 10.244.2.0/24"), "");
  }
}

// `ip route` shows the mark as a protocol; our delete spares the same route without the mark.
TEST_F(LinuxHostTest, TheMarkIsReadBackAndARemovalMatchesIt) {
  const std::uint32_t index = Named("u0").index;
  Route marked;
  marked.destination = P("10.244.2.0/24");
  marked.gateway = A("10.9.0.2");
  marked.adapter_index = index;
  marked.marked = true;
  Route bare = marked;
  bare.marked = false;
  Route v6 = marked;
  v6.destination = P("fd00:244:2::/64");
  v6.gateway = A("fd09::2");
  ExpectAllOk(host_->ReplaceRoutes({bare, marked, v6}), 3);  // the second over the first
  EXPECT_THAT(RoutesOn(index), ElementsAre(marked));
  EXPECT_THAT(RoutesOn(index, IpFamily::kV6), ElementsAre(v6));
  ExpectAllOk(host_->RemoveRoutes({marked, v6}), 2);
  EXPECT_THAT(RoutesOn(index), IsEmpty());
  EXPECT_THAT(RoutesOn(index, IpFamily::kV6), IsEmpty());
  ExpectAllOk(host_->PutRoutes({bare}), 1);
  ExpectAllOk(host_->RemoveRoutes({marked}), 1);
  EXPECT_THAT(RoutesOn(index), ElementsAre(bare));
}

TEST_F(LinuxHostTest, ARefusedRouteIsNamedAndTheRestIsAdded) {
  const std::uint32_t index = BringUpTunnel();
  Route refused = Onlink("10.244.3.0/24", index);
  refused.gateway = A("203.0.113.1");
  refused.onlink = false;  // nothing covers that gateway
  const auto statuses =
      host_->PutRoutes({Onlink("10.244.2.0/24", index), refused, Onlink("10.244.4.0/24", index)});
  ASSERT_EQ(statuses.size(), 3u);
  EXPECT_TRUE(statuses[0].ok());
  EXPECT_THAT(std::string(statuses[1].message()),
              HasSubstr(absl::StrCat("cannot put route 10.244.3.0/24 via 203.0.113.1 on adapter ",
                                     index, ": ")));
  EXPECT_TRUE(statuses[2].ok());
  EXPECT_EQ(RoutesOn(index).size(), 2u);
}

TEST_F(LinuxHostTest, RemovingToleratesAMissingRoute) {
  const std::uint32_t index = BringUpTunnel();
  const Route there = Onlink("10.244.2.0/24", index), v6 = Onlink("fd00:244:2::/64", index);
  ExpectAllOk(host_->PutRoutes({there, v6}), 2);
  ExpectAllOk(host_->RemoveRoutes({Onlink("10.244.3.0/24", index), there, v6, there}), 4);
  EXPECT_THAT(RoutesOn(index), IsEmpty());
  EXPECT_THAT(RoutesOn(index, IpFamily::kV6), IsEmpty());
}

TEST_F(LinuxHostTest, ARouteWithTwoNextHopsIsTwo) {
  ASSERT_EQ(RunIp("route add 10.50.0.0/16 nexthop via 10.9.0.2 dev u0 nexthop via 10.9.0.3 dev u0"),
            "");
  std::vector<IpAddress> gateways;
  for (const Route& route : RoutesOn(Named("u0").index)) {
    EXPECT_EQ(route.destination, P("10.50.0.0/16"));
    gateways.push_back(route.gateway.value_or(IpAddress()));
  }
  EXPECT_THAT(gateways, UnorderedElementsAre(A("10.9.0.2"), A("10.9.0.3")));
}

TEST_F(LinuxHostTest, MetricAndSourceAreRead) {
  ASSERT_EQ(RunIp("route add default via 10.9.0.254 dev u0 metric 70 src 10.9.0.1"), "");
  const std::vector<Route> routes = RoutesOn(Named("u0").index);
  ASSERT_EQ(routes.size(), 1u);
  EXPECT_EQ(routes[0].destination, P("0.0.0.0/0"));
  EXPECT_EQ(routes[0].gateway, A("10.9.0.254"));
  EXPECT_EQ(routes[0].metric, 70u);
  EXPECT_EQ(routes[0].source, A("10.9.0.1"));
}

TEST_F(LinuxHostTest, MetricSourceAndALinkScopeAreSet) {
  const std::uint32_t index = Named("u0").index;
  Route route;
  route.destination = P("10.60.0.0/16");
  route.adapter_index = index;
  route.metric = 77;
  route.source = A("10.9.0.1");
  Route second = route;
  second.metric = 1024;  // of IPv6 it would be none
  ExpectAllOk(host_->PutRoutes({route, second}), 2);
  EXPECT_THAT(RoutesOn(index), UnorderedElementsAre(route, second)) << "a metric each";
  ExpectAllOk(host_->RemoveRoutes({second}), 1);
  EXPECT_THAT(RoutesOn(index), ElementsAre(route));
}

// The kernel writes 1024 where none was given; any other metric was configured.
TEST_F(LinuxHostTest, TheDefaultMetricOfIpv6IsNone) {
  const std::uint32_t index = Named("u0").index;
  ASSERT_EQ(RunIp("-6 route add fd60::/64 via fd09::2 dev u0"), "");
  ASSERT_EQ(RunIp("-6 route add fd61::/64 via fd09::2 dev u0 metric 7"), "");
  std::map<std::string, std::uint32_t> metrics;
  for (const Route& route : RoutesOn(index, IpFamily::kV6))
    metrics[route.destination.ToString()] = route.metric;
  EXPECT_THAT(metrics,
              ElementsAre(::testing::Pair("fd60::/64", 0u), ::testing::Pair("fd61::/64", 7u)));
}

// They occupy the place of their destination.
TEST_F(LinuxHostTest, RoutesToNowhereAreDistinguished) {
  for (const char* kind : {"blackhole", "unreachable", "prohibit"}) {
    for (const auto& [family, prefix] :
         {std::pair(IpFamily::kV4, "10.70.0.0/16"), std::pair(IpFamily::kV6, "fd70::/64")}) {
      const std::string route = absl::StrCat(kind, " ", prefix);
      ASSERT_EQ(RunIp("route add " + route), "");
      std::vector<Route> routes = AllRoutesOn(0, family);
      std::erase_if(routes, [&](const Route& each) { return each.destination != P(prefix); });
      ASSERT_EQ(routes.size(), 1u) << route;
      EXPECT_EQ(routes[0].kind, RouteKind::kUnreachable) << route;
      EXPECT_EQ(routes[0].adapter_index, 0u) << route;
      ASSERT_EQ(RunIp("route del " + route), "");
    }
  }
}

// A cluster's worth, in batches. CPU time, the kernel's part included: the machine may be loaded.
TEST_F(LinuxHostTest, AThousandRoutesTakeAMoment) {
  const std::uint32_t index = BringUpTunnel();
  std::vector<Route> routes;
  for (int i = 0; i < 1000; ++i)
    routes.push_back(Ours(absl::StrCat("10.", 100 + i / 250, ".", i % 250, ".0/24"), index));
  const auto cpu_time = [] {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  const auto begin = cpu_time();
  ExpectAllOk(host_->PutRoutes(routes), routes.size());
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(cpu_time() - begin);
  RecordProperty("microseconds", static_cast<int>(took.count()));
  EXPECT_LT(took, std::chrono::milliseconds(50));
  EXPECT_THAT(RoutesOn(index), ::testing::UnorderedElementsAreArray(routes));
  ExpectAllOk(host_->RemoveRoutes(routes), routes.size());
  EXPECT_THAT(RoutesOn(index), IsEmpty());
}

// ---- the route to a destination

TEST_F(LinuxHostTest, RouteToReturnsAdapterGatewayAndSource) {
  ASSERT_EQ(RunIp("route add default via 10.9.0.254 dev u0"), "");
  const auto far = host_->RouteTo(A("198.51.100.1"));
  ASSERT_TRUE(far.ok()) << far.status();
  EXPECT_EQ(far->adapter_index, Named("u0").index);
  EXPECT_EQ(far->gateway, A("10.9.0.254"));
  EXPECT_EQ(far->source, A("10.9.0.1"));
  const auto near = host_->RouteTo(A("10.9.0.77"));
  ASSERT_TRUE(near.ok()) << near.status();
  EXPECT_EQ(near->gateway, std::nullopt);
}

// A local address has no route.
TEST_F(LinuxHostTest, RouteToOurselvesIsNone) {
  for (const char* own : {"10.9.0.1", "127.0.0.1"}) {
    const auto route = host_->RouteTo(A(own));
    ASSERT_FALSE(route.ok()) << own;
    EXPECT_THAT(std::string(route.status().message()),
                HasSubstr(absl::StrCat("cannot find a route to ", own)));
  }
}

TEST_F(LinuxHostTest, RouteToIpv6ReturnsAdapterGatewayAndSource) {
  ASSERT_EQ(RunIp("-6 route add fd60::/64 via fd09::2 dev u0"), "");
  const auto far = host_->RouteTo(A("fd60::9"));
  ASSERT_TRUE(far.ok()) << far.status();
  EXPECT_EQ(far->adapter_index, Named("u0").index);
  EXPECT_EQ(far->gateway, A("fd09::2"));
  EXPECT_EQ(far->source, A("fd09::1"));
}

TEST_F(LinuxHostTest, RouteToNowhereIsAnErrorThatNamesIt) {
  for (const char* destination : {"198.51.100.1", "2001:db8::1"}) {
    const auto route = host_->RouteTo(A(destination));
    ASSERT_FALSE(route.ok()) << destination;
    EXPECT_THAT(std::string(route.status().message()),
                HasSubstr(absl::StrCat("cannot find a route to ", destination)));
  }
  ASSERT_EQ(RunIp("route add blackhole 198.51.100.0/24"), "");
  EXPECT_FALSE(host_->RouteTo(A("198.51.100.1")).ok());
  ASSERT_EQ(RunIp("route add prohibit 203.0.113.0/24"), "");
  EXPECT_THAT(std::string(host_->RouteTo(A("203.0.113.1")).status().message()),
              HasSubstr("Permission denied"));
}

// ---- rare answers of nf_tables

// With one attribute: a table's comment, a chain's hook.
NetlinkRequest NftMessage(std::uint16_t attribute, std::string_view value) {
  NetlinkRequest message(NFNL_SUBSYS_NFTABLES << 8, 0);
  message.Extra<nfgenmsg>();
  mnl_attr_put(message.header(), attribute, value.size(), value.data());
  return message;
}

TEST(NftAnswersTest, ARefusalIsAnErrorThatNamesTheObject) {
  const NetlinkRequest ok = Error(0), none = Error(ENOENT);
  const NetlinkRequest table =
      NftMessage(NFTA_TABLE_USERDATA, std::string_view("\0\x18made by weft's flanneld\0", 26));
  const NetlinkRequest hook = NftMessage(NFTA_CHAIN_HOOK, "hook");
  constexpr FilterPart kForward = FilterPart::kForward, kMasquerade = FilterPart::kMasquerade;
  const std::vector<FilterRule> some = ForwardRules(P("10.244.0.0/16"));
  const struct {
    bool puts;
    FilterPart part;
    std::vector<FilterRule> rules;
    Answers answers;
    const char* message;
  } rows[] = {
      {false,
       kMasquerade,
       some,
       {{2, ok}, {3, table}, {3, ok}, {4, Error(ENOMEM)}},
       "cannot read chain postrouting of nftables' table inet weft: Cannot allocate memory"},
      {false,
       kMasquerade,
       {},
       {{2, ok}, {3, table}, {3, ok}, {4, Error(ENOMEM)}},
       "cannot read chain postrouting of nftables' table inet weft: Cannot allocate memory"},
      {false,
       kMasquerade,
       some,
       {{2, ok}, {3, table}, {3, ok}, {4, none}, {5, Error(ENOMEM)}},
       "cannot read chain postrouting of nftables' table inet weft: the kernel refused"},
      {false,
       kForward,
       some,
       {{2, ok}, {3, hook}, {3, ok}, {4, Error(ENOMEM)}},
       "cannot read chain FORWARD of nftables' table ip filter: the kernel refused"},
      {true,
       kMasquerade,
       some,
       {{2, none}, {3, Error(EBUSY)}},
       "cannot change nftables' rules: Device or resource busy"},
      {true, kMasquerade, {}, {{2, none}, {3, Error(EBUSY)}}, ""},  // there is nothing to change
      {true,
       kForward,
       some,
       {{2, hook}, {2, ok}, {3, Done()}, {4, Error(EBUSY)}},
       "cannot change nftables' rules: Device or resource busy"},
  };
  for (const auto& row : rows) {
    ASSERT_EQ(EnterPrivateNetns(), "");
    const int descriptor = NextDescriptor();
    const std::unique_ptr<PacketFilter> filter = OpenPacketFilter();
    ASSERT_EQ(filter->Put(kMasquerade, {}), absl::OkStatus());  // opens it: request 1
    SendTo(descriptor, row.answers);
    const absl::Status status =
        row.puts ? filter->Put(row.part, row.rules) : filter->Has(row.part, row.rules).status();
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith(row.message));
    EXPECT_EQ(status.ok(), *row.message == '\0') << status;
  }
}

TEST(NftAnswersTest, OfTheAnswersToAChangeTheFirstErrorCounts) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  const int descriptor = NextDescriptor();
  absl::StatusOr<NfTables> nft = NfTables::Open();
  ASSERT_TRUE(nft.ok()) << nft.status();
  NetlinkRequest no_answer = Error(EPERM);
  no_answer.header()->nlmsg_type = NLMSG_DONE;
  SendTo(descriptor, {{99, Error(EPERM)}, {1, no_answer}, {1, Error(0)}});
  NftBatch batch;
  batch.DeleteTable({NFPROTO_INET, "weft", ""});
  EXPECT_TRUE(absl::IsNotFound(nft->Commit(std::move(batch))));
}

TEST(NftAnswersTest, WhatIsCutOffIsNone) {
  ASSERT_EQ(EnterPrivateNetns(), "");
  const int descriptor = NextDescriptor();
  absl::StatusOr<NfTables> nft = NfTables::Open();
  ASSERT_TRUE(nft.ok()) << nft.status();
  SendTo(descriptor, {{1, NftMessage(NFTA_RULE_HANDLE, "half")},
                      {1, NftMessage(NFTA_RULE_EXPRESSIONS, "")},
                      {1, Done()},
                      {2, NftMessage(NFTA_TABLE_USERDATA, std::string_view("\0\x18made", 6))},
                      {2, Error(0)}});
  constexpr NftChain kChain{NFPROTO_INET, "weft", "postrouting"};
  EXPECT_TRUE(nft->Rules(kChain)->empty());
  EXPECT_EQ(*nft->TableComment(kChain), "");
}

}  // namespace
}  // namespace weft::host
