// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/trace_port.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataplane/ports/port_rules.h"
#include "vxlan/ipv4.h"
#include "vxlan/ipv6.h"
#include "vxlan/udp.h"
#include "vxlan/vni.h"

namespace weft::dataplane {
namespace {

using Direction = PcapngPacket::Direction;

constexpr std::uint32_t kSnapLength = 256 * 1024;

// A datagram of a kWireDatagram port with the outer headers that it has on the wire. UDP checksum
// zero; truncated to the maximum size of an IP packet.
std::vector<std::byte> WithOuterHeaders(Direction direction, const Packet& packet, Bytes payload) {
  const bool v4 = packet.outer_address.is_v4();
  const std::size_t ip_size = v4 ? Ipv4Header::kSize : Ipv6Header::kSize;
  payload =
      payload.first(std::min<std::size_t>(payload.size(), 65'535 - ip_size - UdpHeader::kSize));
  std::vector<std::byte> result(ip_size + UdpHeader::kSize + payload.size());
  const auto udp_length = static_cast<std::uint16_t>(UdpHeader::kSize + payload.size());
  const bool received = direction == Direction::kInbound;
  if (v4) {
    Ipv4Header ip;
    ip.ecn = EcnOf(packet.outer_ecn);
    ip.total_length = static_cast<std::uint16_t>(ip_size + udp_length);
    ip.dont_fragment = true;
    ip.protocol = IpProtocol::kUdp;
    (received ? ip.source : ip.destination) = packet.outer_address.v4();
    ip.Emit(result);
  } else {
    Ipv6Header ip;
    ip.ecn = EcnOf(packet.outer_ecn);
    ip.payload_length = udp_length;
    ip.next_header = IpProtocol::kUdp;
    ip.source = ip.destination = *IpAddress::Parse("::");
    (received ? ip.source : ip.destination) = packet.outer_address;
    ip.Emit(MutableBytes(result).first<Ipv6Header::kSize>());
  }
  const UdpHeader udp{packet.outer_port, kVxlanPort, udp_length, 0};
  udp.Emit(std::span<std::byte, UdpHeader::kSize>(result.data() + ip_size, UdpHeader::kSize));
  std::copy(payload.begin(), payload.end(),
            result.begin() + static_cast<std::ptrdiff_t>(ip_size + UdpHeader::kSize));
  return result;
}

std::string CommentOf(const Packet& packet, Verdict verdict) {
  std::string comment;
  if (packet.segmentation == Segmentation::kTcp || packet.segmentation == Segmentation::kUdp)
    absl::StrAppend(&comment, "superframe, to be cut every ", packet.segment_size, " bytes");
  if (verdict == Verdict::kForward) return comment;
  return absl::StrCat(comment, comment.empty() ? "" : "; ", "dropped, ", Name(verdict), ": ",
                      Sentence(verdict));
}

// The packets of one Receive, until the other port's Send has decided about them.
class Received {
 public:
  void Add(const Packet& packet) {
    const std::uint32_t step =
        packet.segmentation == Segmentation::kDatagrams && packet.segment_size != 0
            ? packet.segment_size
            : packet.length;
    for (std::uint32_t at = 0; at < packet.length; at += step) {
      Entry& entry = entries_.emplace_back();
      entry.packet = packet;
      entry.begin = at == 0 ? packet.data - packet.headroom : packet.data + at;
      const Bytes bytes = packet.bytes().subspan(at, std::min(step, packet.length - at));
      entry.end = at + step < packet.length ? packet.data + at + step
                                            : packet.data + packet.length + packet.tailroom;
      entry.bytes.assign(bytes.begin(), bytes.end());
      entry.verdict = packet.verdict;
    }
  }
  // `data` is where a packet begins now: the headers before it may have changed.
  void Drop(const std::byte* data, Verdict verdict) {
    for (Entry& entry : entries_) {
      if (data < entry.begin || data >= entry.end) continue;
      entry.verdict = verdict;
      return;
    }
  }
  void Take(const auto& use) {
    for (const Entry& entry : entries_) use(entry.packet, Bytes(entry.bytes), entry.verdict);
    entries_.clear();
  }

 private:
  struct Entry {
    Packet packet;  // of its bytes only `bytes` is still valid
    const std::byte* begin = nullptr;
    const std::byte* end = nullptr;
    std::vector<std::byte> bytes;
    Verdict verdict{};
  };
  std::vector<Entry> entries_;
};

class TracePort final : public PacketPort {
 public:
  TracePort(std::unique_ptr<PacketPort> inner, std::shared_ptr<TraceFile> file,
            std::string_view name, Timestamp epoch, std::shared_ptr<Received> own,
            std::shared_ptr<Received> other)
      : inner_(std::move(inner)),
        file_(std::move(file)),
        interface_(file_->AddInterface(LinkType::kEthernet, name)),
        epoch_(epoch),
        own_(std::move(own)),
        other_(std::move(other)),
        offered_(kMaxBatch) {}
  ~TracePort() override { WriteReceived(); }

  PortKind kind() const override { return inner_->kind(); }
  const PortFeatures& features() const override { return inner_->features(); }
  bool Takes(const Packet& packet, Timestamp now) override { return inner_->Takes(packet, now); }
  std::size_t Receive(Batch& batch) override {
    WriteReceived();
    const std::size_t taken = inner_->Receive(batch);
    received_at_ = batch.now;
    for (const Packet& packet : batch) own_->Add(packet);
    return taken;
  }
  void Send(Batch& batch) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      offered_[i] = batch[i].verdict == Verdict::kForward;
      if (!offered_[i]) other_->Drop(batch[i].data, batch[i].verdict);
    }
    inner_->Send(batch);
    // It may have written into headroom, but not changed the packets' own bytes.
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!offered_[i]) continue;
      Received datagrams;
      datagrams.Add(batch[i]);
      datagrams.Take([&](const Packet& packet, Bytes bytes, Verdict verdict) {
        Write(Direction::kOutbound, packet, bytes, verdict, batch.now);
      });
    }
  }
  std::size_t DrainPathMtuNotices(std::span<PathMtuNotice> out) override {
    return inner_->DrainPathMtuNotices(out);
  }
  std::span<const WaitHandle> wait_handles() const override { return inner_->wait_handles(); }
  std::vector<NamedCount> Counts() const override { return inner_->Counts(); }
  std::vector<IcmpErrors> Errors() const override { return inner_->Errors(); }

 private:
  void WriteReceived() {
    bool some = false;
    own_->Take([&](const Packet& packet, Bytes bytes, Verdict verdict) {
      some = true;
      Write(Direction::kInbound, packet, bytes, verdict, received_at_);
    });
    if (some) file_->Flush();
  }
  void Write(Direction direction, const Packet& packet, Bytes bytes, Verdict verdict,
             Timestamp now) {
    const std::vector<std::byte> outer = kind() == PortKind::kWireDatagram
                                             ? WithOuterHeaders(direction, packet, bytes)
                                             : std::vector<std::byte>();
    if (!outer.empty()) bytes = outer;
    file_->Write({.interface = interface_,
                  .time = epoch_ + now,
                  .original_length = static_cast<std::uint32_t>(bytes.size()),
                  .bytes = bytes,
                  .add_ethernet = kind() != PortKind::kPodL2,
                  .comment = CommentOf(packet, verdict),
                  .direction = direction});
  }

  const std::unique_ptr<PacketPort> inner_;
  const std::shared_ptr<TraceFile> file_;
  const std::uint32_t interface_;
  const Timestamp epoch_;
  const std::shared_ptr<Received> own_, other_;
  std::vector<bool> offered_;  // by index in the batch: was to be sent
  Timestamp received_at_{};
};

}  // namespace

absl::StatusOr<std::shared_ptr<TraceFile>> TraceFile::Open(std::shared_ptr<std::FILE> file,
                                                           const std::string& path,
                                                           std::string_view program,
                                                           std::uint64_t max_bytes) {
  std::shared_ptr<TraceFile> trace(new TraceFile(std::move(file), path, max_bytes));
  pcapng::AppendSection(trace->block_, program);
  trace->Put();
  trace->Flush();
  if (absl::Status status = trace->status(); !status.ok()) return status;
  return trace;
}

std::uint32_t TraceFile::AddInterface(LinkType link_type, std::string_view name) {
  const std::lock_guard lock(mutex_);
  block_.clear();
  pcapng::AppendInterface(block_, link_type, kSnapLength, name);
  Put();
  return interfaces_++;
}

void TraceFile::Write(const PcapngPacket& packet) {
  const std::lock_guard lock(mutex_);
  block_.clear();
  pcapng::AppendPacket(block_, packet);
  Put();
}

void TraceFile::Put() {
  if (!status_.ok()) return;
  if (written_ + block_.size() > max_bytes_) {
    std::fflush(file_.get());
    status_ = absl::ResourceExhaustedError(absl::StrCat(
        "the trace ", path_, " has ", written_, " bytes and ends; restart flanneld for another"));
    return;
  }
  written_ += block_.size();
  CheckWritten(std::fwrite(block_.data(), 1, block_.size(), file_.get()) == block_.size());
}

void TraceFile::CheckWritten(bool written) {
  if (written) return;
  status_ = absl::UnavailableError(absl::StrCat("the trace ", path_,
                                                " cannot be written: ", std::strerror(errno),
                                                "; check the path and the free space"));
}

void TraceFile::Flush() {
  const std::lock_guard lock(mutex_);
  if (status_.ok()) CheckWritten(std::fflush(file_.get()) == 0);
}

absl::Status TraceFile::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

TracedPorts Trace(TracedPorts ports, std::shared_ptr<TraceFile> file, std::string_view pods_name,
                  std::string_view wire_name, Timestamp epoch) {
  const auto from_pods = std::make_shared<Received>(), from_wire = std::make_shared<Received>();
  return {std::make_unique<TracePort>(std::move(ports.pods), file, pods_name, epoch, from_pods,
                                      from_wire),
          std::make_unique<TracePort>(std::move(ports.wire), file, wire_name, epoch, from_wire,
                                      from_pods)};
}

}  // namespace weft::dataplane
