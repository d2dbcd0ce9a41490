// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/tunnel_gso_linux.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "dataplane/counters.h"
#include "dataplane/offload.h"
#include "dataplane/ports/bpf_linux.h"
#include "vxlan/checksum.h"
#include "vxlan/ecn.h"
#include "vxlan/encapsulation.h"
#include "vxlan/ethernet.h"
#include "vxlan/ip_protocol.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/mtu.h"
#include "vxlan/tcp.h"
#include "vxlan/udp.h"

namespace weft::dataplane {
namespace {

// Absent from kernel headers before 6.17.
constexpr unsigned kTunTunnelGso = 0x80;           // TUN_F_UDP_TUNNEL_GSO
constexpr unsigned kTunTunnelGsoChecksum = 0x100;  // TUN_F_UDP_TUNNEL_GSO_CSUM
constexpr unsigned kTunnelOffloads = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN | 0x20 |
                                     0x40 | kTunTunnelGso | kTunTunnelGsoChecksum;
// Before 6.6.
constexpr std::uint32_t kTcxIngress = 46;  // BPF_TCX_INGRESS

constexpr std::uint32_t kMaxIpPacket = 65'535;
constexpr int kSendBuffer = 8 << 20;  // bytes; as UdpOptions::send_buffer

// struct virtio_net_hdr_v1_hash_tunnel (<linux/virtio_net.h>), little-endian by TUNSETVNETLE:
// offsets of its fields, and their values.
constexpr std::size_t kFlags = 0;
constexpr std::size_t kGsoType = 1;
constexpr std::size_t kHeaderLength = 2;
constexpr std::size_t kGsoSize = 4;
constexpr std::size_t kChecksumStart = 6;
constexpr std::size_t kChecksumOffset = 8;
constexpr std::size_t kOuterTransport = 20;
constexpr std::size_t kInnerNetwork = 22;
constexpr std::uint8_t kNeedsChecksum = 1;
constexpr std::uint8_t kTunnelChecksum = 8;
constexpr std::uint8_t kGsoTcpV4 = 1;
constexpr std::uint8_t kGsoTcpV6 = 4;
constexpr std::uint8_t kGsoUdp = 5;
constexpr std::uint8_t kGsoTunnelV4 = 0x20;
constexpr std::uint8_t kGsoTunnelV6 = 0x40;
constexpr std::uint8_t kGsoEcn = 0x80;

constexpr auto kEthernet = static_cast<std::uint32_t>(kEthernetHeaderSize);
constexpr auto kUdp = static_cast<std::uint32_t>(kUdpHeaderSize);

std::uint32_t IpHeaderSize(IpFamily family) {
  return static_cast<std::uint32_t>(family == IpFamily::kV4 ? kIpv4HeaderSize : kIpv6HeaderSize);
}

void StoreLe16(std::byte* at, std::uint32_t value) {
  at[0] = static_cast<std::byte>(value);
  at[1] = static_cast<std::byte>(value >> 8);
}

// return bpf_redirect_neigh(egress, NULL, 0, 0)
FileDescriptor LoadRedirect(std::uint32_t egress) {
  const std::array<bpf_insn, 7> program = {{
      // The device's only receive queue, recorded in the packet, would select the transmit queue;
      // 0: its flow's hash does, as for a socket's packets, so that they stay in order.
      BpfCode(BPF_ST | BPF_MEM | BPF_W, 1, 0, offsetof(__sk_buff, queue_mapping), 0),
      BpfCode(BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, static_cast<std::int32_t>(egress)),
      BpfCode(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 0),
      BpfCode(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 0),
      BpfCode(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, 0),
      BpfCode(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_neigh),
      BpfCode(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  }};
  return LoadBpf(BPF_PROG_TYPE_SCHED_CLS, program);
}

FileDescriptor Attach(const FileDescriptor& program, std::uint32_t device) {
  bpf_attr link{};
  link.link_create.prog_fd = static_cast<std::uint32_t>(program.get());
  link.link_create.target_ifindex = device;
  link.link_create.attach_type = kTcxIngress;
  return Bpf(BPF_LINK_CREATE, link);
}

// Packets that the host sends to the device (router solicitations, a bridge's) are dropped.
bool DropOutput(int tap) {
  sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program = {1, &drop};
  return ::ioctl(tap, TUNATTACHFILTER, &program) == 0;
}

// Up, without an IPv6 link-local address.
int BringUp(std::uint32_t device) {
  struct {
    nlmsghdr header{};
    ifinfomsg link{};
    rtattr af_spec{};
    rtattr inet6{};
    rtattr mode{};
    std::uint8_t value = IN6_ADDR_GEN_MODE_NONE;
    std::array<std::uint8_t, 3> padding{};
  } request;
  const auto length = [](std::size_t from) {
    return static_cast<unsigned short>(sizeof request - 3 - from);
  };
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_NEWLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  request.link.ifi_index = static_cast<int>(device);
  request.link.ifi_flags = request.link.ifi_change = IFF_UP;
  request.af_spec = {length(offsetof(decltype(request), af_spec)), IFLA_AF_SPEC};
  request.inet6 = {length(offsetof(decltype(request), inet6)), AF_INET6};
  request.mode = {length(offsetof(decltype(request), mode)), IFLA_INET6_ADDR_GEN_MODE};
  const FileDescriptor netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!netlink.valid()) return errno;
  const auto ask = [&] {
    struct {
      nlmsghdr header;
      nlmsgerr error;
      std::array<std::byte, 512> rest;
    } answer{};
    if (::send(netlink.get(), &request, request.header.nlmsg_len, 0) < 0) return errno;
    if (::recv(netlink.get(), &answer, sizeof answer, 0) < 0) return errno;
    return -answer.error.error;
  };
  if (ask() == 0) return 0;
  // A kernel without IPv6 does not know the attribute.
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.link);
  return ask();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TunnelGso>> TunnelGso::Open(const TunnelGsoOptions& options) {
  if (options.name.empty() || options.name.size() >= IFNAMSIZ) {
    return absl::InvalidArgumentError(
        absl::StrCat("TAP device \"", options.name, "\": a name has 1 to 15 bytes"));
  }
  const auto failed = [&](int error, std::string_view what) {
    return absl::ErrnoToStatus(error, absl::StrCat("TAP device ", options.name, ": ", what));
  };
  FileDescriptor tap(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!tap.valid()) return failed(errno, "/dev/net/tun");
  ifreq request{};
  options.name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL);
  if (::ioctl(tap.get(), TUNSETIFF, &request) < 0) return failed(errno, "cannot create it");
  int header = kVirtioHeader;
  int on = 1;
  int buffer = kSendBuffer;
  if (::ioctl(tap.get(), TUNSETVNETHDRSZ, &header) < 0 ||
      ::ioctl(tap.get(), TUNSETVNETLE, &on) < 0 ||
      ::ioctl(tap.get(), TUNSETOFFLOAD, kTunnelOffloads | options.more_offloads) < 0) {
    return absl::UnimplementedError("the kernel has no tunnel GSO for TAP devices (Linux 6.17)");
  }
  ::ioctl(tap.get(), TUNSETSNDBUF, &buffer);
  if (!DropOutput(tap.get())) return failed(errno, "cannot attach a filter");

  const FileDescriptor names(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!names.valid() || ::ioctl(names.get(), SIOCGIFINDEX, &request) < 0)
    return failed(errno, "cannot read its index");
  const auto device = static_cast<std::uint32_t>(request.ifr_ifindex);
  const FileDescriptor program = LoadRedirect(options.egress_index);
  if (!program.valid()) {
    if (errno == EPERM || errno == EACCES) {
      return absl::PermissionDeniedError(
          "the kernel refuses to load a BPF program; grant flanneld CAP_BPF and CAP_NET_ADMIN");
    }
    return failed(errno, "the kernel refuses its BPF program");
  }
  FileDescriptor link = Attach(program, device);
  if (!link.valid()) return failed(errno, "the kernel refuses a TCX link (Linux 6.6)");
  if (const int error = BringUp(device); error != 0) return failed(error, "cannot bring it up");
  return std::unique_ptr<TunnelGso>(new TunnelGso(std::move(tap), std::move(link), options));
}

std::string TunnelGso::Obstacle() const {
  ifreq device{};
  if (::ioctl(tap_.get(), TUNGETIFF, &device) < 0)
    return absl::StrCat("the device ", name_, " was deleted; restart flanneld to have it again");
  const FileDescriptor any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!any.valid() || ::ioctl(any.get(), SIOCGIFFLAGS, &device) < 0)
    return std::string(absl::ErrnoToStatus(errno, absl::StrCat("the device ", name_)).message());
  if ((device.ifr_flags & IFF_UP) == 0)
    return absl::StrCat("the device ", device.ifr_name, " is down; set it up");
  // RPS hands its packets to other CPUs, so that a small packet of the same flow, sent by a socket,
  // would overtake a superframe.
  const std::string path =
      absl::StrCat("/sys/class/net/", device.ifr_name, "/queues/rx-0/rps_cpus");
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> cpus;  // in hexadecimal, with commas
  const ssize_t length = file.valid() ? ::read(file.get(), cpus.data(), cpus.size()) : -1;
  if (length < 0) {
    return std::string(
        absl::ErrnoToStatus(errno, absl::StrCat("whether packets keep their order: ", path))
            .message());
  }
  const bool set = std::any_of(cpus.begin(), cpus.begin() + length, [](char each) {
    return each != '0' && each != ',' && each != '\n';
  });
  return set ? absl::StrCat("RPS is on, with which packets would lose their order; write 0 to ",
                            path)
             : "";
}

bool TunnelGso::Fits(const Packet& superframe, IpFamily outer) {
  const std::uint32_t ip = IpHeaderSize(outer);
  return ip + kUdp + superframe.length <= kMaxIpPacket &&
         superframe.headroom >= kVirtioHeader + kEthernet + ip + kUdp &&
         superframe.checksum == ChecksumState::kPartial;
}

std::byte* WriteTunnelGsoHeaders(const Packet& superframe, const TunnelGso::Outer& outer) {
  const bool v4 = outer.destination.is_v4();
  const std::uint32_t ip_size = IpHeaderSize(outer.destination.family());
  const std::uint32_t before = kEthernet + ip_size + kUdp;
  const std::uint32_t udp_length = kUdp + superframe.length;
  std::byte* const udp = superframe.data - kUdp;
  std::byte* const ip = udp - ip_size;
  std::byte* const ethernet = ip - kEthernet;
  std::byte* const header = ethernet - TunnelGso::kVirtioHeader;

  const bool inner_v4 = Load8(superframe.data + superframe.inner_offset) >> 4 == 4;
  std::uint8_t type = kGsoUdp;
  if (superframe.segmentation == Segmentation::kTcp) {
    type = inner_v4 ? kGsoTcpV4 : kGsoTcpV6;
    if ((LoadBe16(superframe.data + superframe.checksum_start + 12) & TcpHeader::kCwr) != 0)
      type |= kGsoEcn;
  }
  const bool checksum = outer.udp_checksum || !v4;
  std::memset(header, 0, TunnelGso::kVirtioHeader + kEthernet);
  Store8(header + kFlags,
         static_cast<std::uint8_t>(kNeedsChecksum | (checksum ? kTunnelChecksum : 0)));
  Store8(header + kGsoType, static_cast<std::uint8_t>(type | (v4 ? kGsoTunnelV4 : kGsoTunnelV6)));
  StoreLe16(header + kHeaderLength, before + SuperframeHeaderLength(superframe));
  StoreLe16(header + kGsoSize, superframe.segment_size);
  StoreLe16(header + kChecksumStart, before + superframe.checksum_start);
  StoreLe16(header + kChecksumOffset, superframe.checksum_offset);
  StoreLe16(header + kOuterTransport, kEthernet + ip_size);
  StoreLe16(header + kInnerNetwork, before + superframe.inner_offset);

  // The Ethernet addresses stay zero: bpf_redirect_neigh writes those of the next hop.
  StoreBe16(ethernet + 12, static_cast<std::uint16_t>(v4 ? EtherType::kIpv4 : EtherType::kIpv6));
  if (v4) {
    Ipv4Header out;
    out.ecn = EcnOf(superframe.outer_ecn);
    out.total_length = static_cast<std::uint16_t>(ip_size + udp_length);
    out.dont_fragment = true;
    out.ttl = outer.ttl;
    out.protocol = IpProtocol::kUdp;
    out.source = outer.source.v4();
    out.destination = outer.destination.v4();
    out.Emit({ip, Ipv4Header::kSize});
  } else {
    Ipv6Header out;
    out.ecn = EcnOf(superframe.outer_ecn);
    out.payload_length = static_cast<std::uint16_t>(udp_length);
    out.next_header = IpProtocol::kUdp;
    out.hop_limit = outer.ttl;
    out.source = outer.source;
    out.destination = outer.destination;
    out.Emit(std::span<std::byte, Ipv6Header::kSize>(ip, Ipv6Header::kSize));
  }
  // The kernel completes the checksum for each segment.
  const PartialSum pseudo =
      PseudoHeader(outer.source, outer.destination, IpProtocol::kUdp, udp_length);
  UdpHeader{outer.source_port, outer.destination_port, static_cast<std::uint16_t>(udp_length),
            checksum ? pseudo.Fold() : std::uint16_t{0}}
      .Emit(std::span<std::byte, UdpHeader::kSize>(udp, UdpHeader::kSize));
  return header;
}

int TunnelGso::Send(const Packet& superframe, const Outer& outer) {
  const std::byte* const start = WriteTunnelGsoHeaders(superframe, outer);
  const auto length = static_cast<std::size_t>(superframe.data + superframe.length - start);
  if (::write(tap_.get(), start, length) >= 0) {
    AddShared(sent_, 1);
    return 0;
  }
  const int error = errno;
  // EBADFD: it was deleted; EIO: it is down.
  if (error == EBADFD || error == EIO) Permit(false);
  return error;
}

}  // namespace weft::dataplane
