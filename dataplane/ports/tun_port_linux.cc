// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/tun_port.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "dataplane/counters.h"
#include "dataplane/file_descriptor_linux.h"
#include "dataplane/offload.h"
#include "dataplane/ports/port_rules.h"
#include "dataplane/ports/tun_steering_linux.h"
#include "vxlan/ethernet.h"
#include "vxlan/tcp.h"
#include "vxlan/udp.h"

namespace weft::dataplane {
namespace {

// struct virtio_net_hdr, in the machine's byte order (TUNSETVNETLE is not used).
// <linux/virtio_net.h> has a member named `class`, so C++ cannot include it.
struct VirtioHeader {
  static constexpr std::uint8_t kNeedsChecksum = 1;  // of flags
  static constexpr std::uint8_t kTcpV4 = 1;          // of segmentation
  static constexpr std::uint8_t kTcpV6 = 4;
  static constexpr std::uint8_t kUdp = 5;  // VIRTIO_NET_HDR_GSO_UDP_L4
  static constexpr std::uint8_t kEcn =
      0x80;  // next to kTcp*: CWR is set, on the first segment only

  std::uint8_t flags = 0;
  std::uint8_t segmentation = 0;
  std::uint16_t header_length = 0;  // bytes before the payload
  std::uint16_t segment_size = 0;
  std::uint16_t checksum_start = 0;
  std::uint16_t checksum_offset = 0;
};
constexpr std::uint32_t kVirtioHeader = sizeof(VirtioHeader);
static_assert(kVirtioHeader == 10 && kVirtioHeader <= kHeadroom);

// Absent from kernel headers before 6.2, such as Debian 12's.
constexpr unsigned kTunUso4 = 0x20;  // TUN_F_USO4
constexpr unsigned kTunUso6 = 0x40;  // TUN_F_USO6

constexpr unsigned kTso = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
constexpr unsigned kUso = kTunUso4 | kTunUso6;
// Best first; older kernels refuse unknown flags.
constexpr std::array<unsigned, 4> kOffloadSteps = {kTso | kUso, kTso, TUN_F_CSUM, 0};

// The kernel keeps up to 500 packets of up to 64 KiB in each queue, charged to no memory account: a
// pod that forges sources and so fills all queues pins half a gigabyte.
constexpr std::size_t kQueues = TunSteering::kQueues;
// A queue's turn, and a batch, end once their packets become this many wire packets. A superframe
// of the smallest segments takes a millisecond, and so do 256 datagrams sent one by one; packets
// that arrive meanwhile wait that long, so a batch ends before it is full.
constexpr std::uint32_t kTurnWirePackets = 16;
constexpr std::uint32_t kBatchWirePackets = 256;
constexpr std::size_t kBatchFrames = 64;

const char* DeviceWord(PortKind kind) { return kind == PortKind::kPodL3 ? "TUN" : "TAP"; }

absl::Status OpenError(PortKind kind, const std::string& name, int error) {
  const std::string device = absl::StrCat(DeviceWord(kind), " device \"", name, "\": ");
  switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return absl::NotFoundError(absl::StrCat(device,
                                              "/dev/net/tun is missing; load the module (modprobe "
                                              "tun), or give the container the device"));
    case EPERM:
    case EACCES:
      return absl::PermissionDeniedError(
          absl::StrCat(device, "not permitted; run with CAP_NET_ADMIN and access to /dev/net/tun"));
    case EBUSY:
      return absl::AlreadyExistsError(absl::StrCat(
          device, "the name is taken; stop the program that has it, or delete it (ip link delete ",
          name, ")"));
    default:
      return absl::ErrnoToStatus(
          error, absl::StrCat(device, "the kernel refused to create it; see dmesg for the cause"));
  }
}

// Copies the virtio-net header into the descriptor. False: it contradicts the packet.
bool ReadHeader(const VirtioHeader& header, Packet& packet) {
  if ((header.flags & VirtioHeader::kNeedsChecksum) != 0) {
    if (header.checksum_start + header.checksum_offset + 2u > packet.length) return false;
    packet.checksum = ChecksumState::kPartial;
    packet.checksum_start = header.checksum_start;
    packet.checksum_offset = header.checksum_offset;
  }
  switch (header.segmentation & ~VirtioHeader::kEcn) {
    case 0:
      return true;
    case VirtioHeader::kTcpV4:
    case VirtioHeader::kTcpV6:
      packet.segmentation = Segmentation::kTcp;
      break;
    case VirtioHeader::kUdp:
      packet.segmentation = Segmentation::kUdp;
      break;
    default:
      return false;
  }
  packet.segment_size = header.segment_size;
  return header.segment_size != 0 && packet.checksum == ChecksumState::kPartial;
}

// The packet has at least a TCP header.
bool IsIpv6(PortKind kind, const Packet& packet) {
  if (kind == PortKind::kPodL3) return Load8(packet.data) >> 4 == 6;
  return LoadBe16(packet.data + 12) == static_cast<std::uint16_t>(EtherType::kIpv6);
}

// The reverse of ReadHeader. Empty: the descriptor contradicts the packet.
std::optional<VirtioHeader> MakeHeader(PortKind kind, const Packet& packet) {
  VirtioHeader header;
  if (packet.segmentation == Segmentation::kNone && packet.checksum == ChecksumState::kOnWire)
    return header;
  const Bytes bytes = packet.bytes();
  if (packet.checksum_start + packet.checksum_offset + 2u > bytes.size()) return std::nullopt;
  header.flags = VirtioHeader::kNeedsChecksum;
  header.checksum_start = packet.checksum_start;
  header.checksum_offset = packet.checksum_offset;
  if (packet.segmentation == Segmentation::kTcp) {
    const auto tcp = TcpHeader::Parse(bytes.subspan(packet.checksum_start));
    if (!tcp) return std::nullopt;
    header.segmentation = IsIpv6(kind, packet) ? VirtioHeader::kTcpV6 : VirtioHeader::kTcpV4;
    if ((tcp->flags & TcpHeader::kCwr) != 0) header.segmentation |= VirtioHeader::kEcn;
    header.header_length = static_cast<std::uint16_t>(packet.checksum_start + tcp->header_length);
    header.segment_size = packet.segment_size;
  } else if (packet.segmentation == Segmentation::kUdp) {
    if (packet.checksum_start + UdpHeader::kSize > bytes.size()) return std::nullopt;
    header.segmentation = VirtioHeader::kUdp;
    header.header_length = static_cast<std::uint16_t>(packet.checksum_start + UdpHeader::kSize);
    header.segment_size = packet.segment_size;
  }
  return header;
}

}  // namespace

struct TunTapPort::Device {
  // Queues that may have packets, in the order of their turns; each at most once in a list.
  class Turns {
   public:
    bool empty() const { return count_ == 0; }
    void Add(std::size_t queue) {
      if (std::exchange(waits_[queue], true)) return;
      ring_[(first_ + count_++) % kQueues] = queue;
    }
    std::size_t Pop() {
      const std::size_t queue = ring_[first_];
      first_ = (first_ + 1) % kQueues;
      --count_;
      waits_[queue] = false;
      return queue;
    }
    bool Has(std::size_t queue) const { return waits_[queue]; }

   private:
    std::array<std::size_t, kQueues> ring_{};
    std::array<bool, kQueues> waits_{};
    std::size_t first_ = 0;
    std::size_t count_ = 0;
  };

  PortKind kind = PortKind::kPodL3;
  // For writes: a detached queue. The kernel steers a flow to the queue that its replies are
  // written to, so with any other queue all answered flows would share it.
  FileDescriptor writer;
  std::array<FileDescriptor, kQueues> queues;  // by index; empty: another worker's
  FileDescriptor epoll;                        // of the queues
  WaitHandle handle = -1;
  std::string name;
  std::optional<TunSteering> steering;  // empty: by the flow's hash
  PortFeatures features;
  PacketSlab slab{kBatchFrames};
  Turns fresh;    // were empty when last read
  Turns backlog;  // had more packets than a turn takes
  std::atomic<std::uint64_t> read_errors{0};
  std::atomic<std::uint64_t> oversize{0};

  // What the current Receive has read.
  struct Taken {
    std::size_t frames = 0;
    std::size_t bytes = 0;
    std::uint32_t wire_packets = 0;
    bool broken = false;
  };

  bool HasRoom(const Batch& batch, const Taken& taken) const {
    return batch.size() < kBatchFrames && taken.bytes < kBatchBytes &&
           taken.wire_packets < kBatchWirePackets && !taken.broken;
  }

  void FindReady(Timestamp now) {
    std::array<epoll_event, kQueues> events;
    const int ready = ::epoll_wait(epoll.get(), events.data(), static_cast<int>(kQueues), 0);
    for (int i = 0; i < ready; ++i) {
      const std::size_t queue = events[static_cast<std::size_t>(i)].data.u32;
      const bool may_read = !steering || steering->MayRead(queue, now);
      if (may_read && !backlog.Has(queue)) fresh.Add(queue);
    }
  }

  // A queue's turn. False: it is empty.
  bool TakeTurn(std::size_t queue, Batch& batch, Taken& taken) {
    const std::size_t first = batch.size();
    const std::size_t frames = taken.frames;
    const bool more = Read(queue, batch, taken);
    if (steering) {
      const Packet* last = batch.size() == first ? nullptr : &batch[batch.size() - 1];
      steering->Observe(queue, taken.frames - frames, last, more, batch.now);
    }
    return more;
  }

  bool Read(std::size_t queue, Batch& batch, Taken& taken) {
    const std::uint32_t end = taken.wire_packets + kTurnWirePackets;
    while (HasRoom(batch, taken) && taken.wire_packets < end) {
      Packet packet = slab.Lend(batch.size());
      const ssize_t got =
          ::read(queues[queue].get(), packet.data - kVirtioHeader, kVirtioHeader + kMaxPacket);
      if (got < 0) {
        if (errno == EAGAIN) return false;
        Add(read_errors, 1);
        taken.broken = true;  // all queues fail alike
        return false;
      }
      ++taken.frames;
      if (got <= static_cast<ssize_t>(kVirtioHeader)) {
        ++taken.wire_packets;
        continue;
      }
      packet.length = static_cast<std::uint32_t>(got) - kVirtioHeader;
      packet.tailroom = kMaxPacket - packet.length;
      VirtioHeader header;
      std::memcpy(&header, packet.data - kVirtioHeader, kVirtioHeader);
      // The kernel truncates silently.
      if (packet.length == kMaxPacket || !ReadHeader(header, packet)) {
        ++taken.wire_packets;
        Add(oversize, 1);
        continue;
      }
      taken.bytes += packet.length;
      taken.wire_packets += WirePackets(packet);
      batch.Add(packet);
    }
    return true;
  }

  // One write for one packet; 0 or the errno.
  int Write(const Packet& packet, VirtioHeader header) const {
    ssize_t written;
    do {
      if (packet.headroom >= kVirtioHeader) {
        std::byte* start = packet.data - kVirtioHeader;
        std::memcpy(start, &header, kVirtioHeader);
        written = ::write(writer.get(), start, kVirtioHeader + packet.length);
      } else {
        const std::array<iovec, 2> pieces = {iovec{&header, kVirtioHeader},
                                             iovec{packet.data, packet.length}};
        written = ::writev(writer.get(), pieces.data(), static_cast<int>(pieces.size()));
      }
    } while (written < 0 && errno == EINTR);
    return written < 0 ? errno : 0;
  }
};

namespace {

// Opens a queue of the device `name`; with `exclusive` creates the device and sets `name` to its
// name. Returns 0 or the errno.
int OpenQueue(PortKind kind, std::string& name, bool exclusive, FileDescriptor& queue) {
  queue = FileDescriptor(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!queue.valid()) return errno;
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  const int layer = kind == PortKind::kPodL3 ? IFF_TUN : IFF_TAP;
  // Without IFF_TUN_EXCL the kernel would attach to an existing persistent device of that name,
  // which would outlive us.
  const int only_new = exclusive ? IFF_TUN_EXCL : 0;
  request.ifr_flags =
      static_cast<short>(layer | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE | only_new);
  if (::ioctl(queue.get(), TUNSETIFF, &request) < 0) return errno;
  name = request.ifr_name;
  return 0;
}

int Watch(int epoll, const std::array<FileDescriptor, kQueues>& queues) {
  for (std::size_t i = 0; i < kQueues; ++i) {
    if (!queues[i].valid()) continue;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = static_cast<std::uint32_t>(i);
    if (::epoll_ctl(epoll, EPOLL_CTL_ADD, queues[i].get(), &event) < 0) return errno;
  }
  return 0;
}

int SwitchOff(int queue) {
  ifreq request{};
  request.ifr_flags = IFF_DETACH_QUEUE;
  return ::ioctl(queue, TUNSETQUEUE, &request) < 0 ? errno : 0;
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<TunTapPort::Device>>> TunTapPort::OpenDevice(
    PortKind kind, const TunOptions& options, std::size_t workers) {
  if (options.name.size() >= IFNAMSIZ) {
    return absl::InvalidArgumentError(
        absl::StrCat(DeviceWord(kind), " device \"", options.name,
                     "\": the name has more than 15 bytes; choose a shorter one"));
  }
  std::vector<std::unique_ptr<Device>> devices(workers);
  for (auto& device : devices) device = std::make_unique<Device>();
  std::string name = options.name;
  int error = 0;
  for (std::size_t i = 0; i < kQueues && error == 0; ++i)
    error = OpenQueue(kind, name, /*exclusive=*/i == 0, devices[i % workers]->queues[i]);
  for (auto& device : devices) {
    // Opened last, so that detaching it does not change the other queues' indices.
    if (error == 0) error = OpenQueue(kind, name, /*exclusive=*/false, device->writer);
    if (error == 0) error = SwitchOff(device->writer.get());
    if (error != 0) break;
    device->epoll = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
    error = device->epoll.valid() ? Watch(device->epoll.get(), device->queues) : errno;
  }
  if (error != 0) return OpenError(kind, options.name, error);
  const int any_queue = devices[0]->queues[0].get();
  std::vector<TunSteering> steerings;
  if (options.by_source && kind == PortKind::kPodL3)
    steerings = TunSteering::Load(any_queue, workers);

  unsigned got = 0;
  for (const unsigned step : kOffloadSteps) {
    got = options.offloads ? step : 0;
    if (::ioctl(any_queue, TUNSETOFFLOAD, got) == 0) break;
  }
  PortFeatures features;
  features.partial_checksum = true;  // every kernel with IFF_VNET_HDR supports it on Send
  features.tcp_segmentation = (got & TUN_F_TSO4) != 0;
  features.udp_segmentation = (got & kTunUso4) != 0;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    Device& device = *devices[worker];
    device.kind = kind;
    device.name = name;
    device.handle = device.epoll.get();
    device.features = features;
    if (!steerings.empty()) device.steering = std::move(steerings[worker]);
  }
  return devices;
}

TunTapPort::TunTapPort(std::unique_ptr<Device> device) : device_(std::move(device)) {}
TunTapPort::~TunTapPort() = default;

PortKind TunTapPort::kind() const { return device_->kind; }
const PortFeatures& TunTapPort::features() const { return device_->features; }
const std::string& TunTapPort::name() const { return device_->name; }
bool TunTapPort::steers_by_source() const { return device_->steering.has_value(); }
std::span<const WaitHandle> TunTapPort::wait_handles() const { return {&device_->handle, 1}; }

std::size_t TunTapPort::Receive(Batch& batch) {
  batch.clear();
  Device::Taken taken;
  // Called each time. Queues that were empty go first, as in fq_codel (RFC 8290 section 4.2), so
  // that slow senders do not wait for fast ones. A quarter of the batch is reserved for the latter.
  device_->FindReady(batch.now);
  while (!device_->fresh.empty() && device_->HasRoom(batch, taken) &&
         batch.size() < kBatchFrames * 3 / 4 && taken.bytes < kBatchBytes * 3 / 4 &&
         taken.wire_packets < kBatchWirePackets * 3 / 4) {
    const std::size_t queue = device_->fresh.Pop();
    if (device_->TakeTurn(queue, batch, taken)) device_->backlog.Add(queue);
  }
  while (!device_->backlog.empty() && device_->HasRoom(batch, taken)) {
    const std::size_t queue = device_->backlog.Pop();
    if (device_->TakeTurn(queue, batch, taken)) device_->backlog.Add(queue);
  }
  return taken.frames;
}

void TunTapPort::Send(Batch& batch) {
  for (Packet& packet : batch) {
    if (packet.verdict != Verdict::kForward) continue;
    const auto header =
        Accepts(device_->features, packet) ? MakeHeader(device_->kind, packet) : std::nullopt;
    if (!header) {
      packet.verdict = Verdict::kPodError;
      continue;
    }
    const int error = device_->Write(packet, *header);
    if (error == 0) continue;
    packet.verdict = IsFull(error) ? Verdict::kPodFull : Verdict::kPodError;
  }
}

std::vector<NamedCount> TunTapPort::Counts() const {
  return {{"device-read-error", device_->read_errors.load(std::memory_order_relaxed)},
          {"device-oversize", device_->oversize.load(std::memory_order_relaxed)}};
}

absl::StatusOr<std::vector<std::unique_ptr<TunPort>>> TunPort::OpenAll(const TunOptions& options,
                                                                       std::size_t workers) {
  auto devices = OpenDevice(PortKind::kPodL3, options, workers);
  if (!devices.ok()) return devices.status();
  std::vector<std::unique_ptr<TunPort>> ports;
  for (auto& device : *devices) ports.emplace_back(new TunPort(std::move(device)));
  return ports;
}

absl::StatusOr<std::unique_ptr<TunPort>> TunPort::Open(const TunOptions& options) {
  auto ports = OpenAll(options, 1);
  if (!ports.ok()) return ports.status();
  return std::move(ports->front());
}

absl::StatusOr<std::unique_ptr<TapPort>> TapPort::Open(const TunOptions& options) {
  auto devices = OpenDevice(PortKind::kPodL2, options, 1);
  if (!devices.ok()) return devices.status();
  return std::unique_ptr<TapPort>(new TapPort(std::move(devices->front())));
}

}  // namespace weft::dataplane
