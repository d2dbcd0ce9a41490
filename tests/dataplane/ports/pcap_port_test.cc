// SPDX-License-Identifier: Apache-2.0
// libpcap against the real kernel, in a network namespace of its own, and functions in memory in
// place of Npcap's, which Wine lacks.
#include "dataplane/ports/pcap_port.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "dataplane/wait_set.h"
#include "tests/dataplane/ports/packet_socket.h"
#include "tests/dataplane/ports/port_harnesses.h"
#include "tests/support/netns.h"
#include "tests/support/packet_builder.h"
#include "tests/support/wait.h"

namespace weft::dataplane {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const MacAddress kOurs = Mac("02:00:00:00:01:01");
const MacAddress kPod = Mac("02:00:00:00:01:02");

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

class PcapPortTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(EnterPrivateNetns(), "");
    ASSERT_EQ(AddQuietVeth(), "");
    const auto library = PcapLibrary::Load();
    ASSERT_TRUE(library.ok()) << library.status();
    library_ = *library;
  }

  std::unique_ptr<PcapPort> Open(IpFamily family = IpFamily::kV4) {
    auto port = PcapPort::Open(*library_, {.adapter = "near", .mac = kOurs, .family = family});
    EXPECT_TRUE(port.ok()) << port.status();
    return port.ok() ? *std::move(port) : nullptr;
  }
  absl::Status OpenStatus(const PcapDeviceOptions& options) {
    return PcapDevice::Open(*library_, options).status();
  }
  static std::uint64_t Count(const PcapPort& port, std::string_view name) {
    for (const NamedCount& count : port.Counts()) {
      if (count.name == name) return count.value;
    }
    return ~std::uint64_t{0};
  }

  const PcapLibrary* library_ = nullptr;
  Batch batch_;
};

TEST_F(PcapPortTest, ReceivesWhatConcernsTheGateway) {
  const auto port = Open();
  PacketSocket far("far");
  const PacketBuilder packet("10.244.1.2", "10.244.2.3");
  ByteVector arp(60);
  EthernetHeader{Mac("ff:ff:ff:ff:ff:ff"), kPod, EtherType::kArp}.Emit(
      MutableBytes(arp).first<EthernetHeader::kSize>());
  const std::vector<ByteVector> frames = {
      packet.BuildFrame(kPod, Mac("02:00:00:00:01:77")),  // to another pod
      packet.BuildFrame(kOurs, kOurs),                    // from us
      PacketBuilder("fd00:1::2", "fd00:2::3").BuildFrame(kPod, kOurs),
      packet.BuildFrame(kPod, kOurs), arp};
  for (const ByteVector& frame : frames) EXPECT_EQ(far.Send(frame), "");
  const auto readable = [](PcapPort& of) {
    return (*WaitSet::Make(of.wait_handles()))->Wait(std::chrono::milliseconds(10));
  };
  std::vector<ByteVector> received;
  EXPECT_TRUE(testing::Await(std::chrono::seconds(10), [&] {
    if (readable(*port)) {
      for (ByteVector& each : ReceiveBytes(*port)) received.push_back(std::move(each));
    }
    return received.size() >= 2;
  }));
  EXPECT_THAT(received, ElementsAre(frames[3], frames[4]));

  const auto port6 = Open(IpFamily::kV6);
  for (const ByteVector& frame : frames) EXPECT_EQ(far.Send(frame), "");
  ASSERT_TRUE(testing::Await(std::chrono::seconds(10), [&] { return readable(*port6); }));
  EXPECT_THAT(ReceiveBytes(*port6), ElementsAre(frames[2]));
}

TEST_F(PcapPortTest, SaysWhyAnAdapterCannotBeOpened) {
  const absl::Status missing = OpenStatus({.adapter = "eth9"});
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(MessageOf(missing), HasSubstr("adapter eth9 does not exist; this host has lo, "));
  EXPECT_EQ(OpenStatus({.adapter = "near", .filter = "udp prot 1"}).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(MessageOf(OpenStatus({.adapter = "near", .filter = "udp prot 1"})),
              HasSubstr("the filter \"udp prot 1\" is not understood"));
  EXPECT_EQ(RunIp("link set near down"), "");
  EXPECT_EQ(OpenStatus({.adapter = "near"}),
            absl::UnavailableError("adapter near is down; set it up"));
}

TEST_F(PcapPortTest, AnAdapterOfIpPacketsHasNoPods) {
  ASSERT_EQ(RunIp("tuntap add t0 mode tun"), "");
  ASSERT_EQ(RunIp("link set t0 up"), "");
  EXPECT_EQ(OpenStatus({.adapter = "t0"}), absl::OkStatus()) << "though it can be captured";
  EXPECT_EQ(PcapPort::Open(*library_, {.adapter = "t0", .mac = kOurs}).status(),
            absl::InvalidArgumentError(
                "adapter t0 has no Ethernet frames; name one that has (veth, bridge)"));
}

TEST_F(PcapPortTest, WithoutTheRightToCaptureTheErrorSaysSo) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct former[2], less[2];
  ASSERT_EQ(::syscall(SYS_capget, &header, former), 0);
  std::copy(former, former + 2, less);
  less[0].effective &= ~(1u << CAP_NET_RAW);
  ASSERT_EQ(::syscall(SYS_capset, &header, less), 0);
  const absl::Status refused = OpenStatus({.adapter = "near"});
  ASSERT_EQ(::syscall(SYS_capset, &header, former), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(MessageOf(refused),
              HasSubstr("adapter near cannot be captured: this user has no right to; run as root"));
}

// The worker learns nothing from it, and is not kept awake: control/backend looks at the adapters.
TEST_F(PcapPortTest, AnAdapterThatIsGoneIsCountedAndRefusesFrames) {
  const auto port = Open();
  ASSERT_EQ(RunIp("link del near"), "");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(port->Receive(batch_), 0u);
  EXPECT_GE(Count(*port, "pcap-read-error"), 1u);
  const ByteVector frame = PacketBuilder("10.244.2.3", "10.244.1.2").BuildFrame(kOurs, kPod);
  PacketSlab slab;
  Packet packet = slab.Lend(0);
  std::copy(frame.begin(), frame.end(), packet.data);
  packet.length = static_cast<std::uint32_t>(frame.size());
  batch_.clear();
  batch_.Add(packet);
  port->Send(batch_);
  EXPECT_EQ(batch_[0].verdict, Verdict::kPodFull);
}

TEST_F(PcapPortTest, DropsOfTheKernelAreCounted) {
  auto port = PcapPort::Open(*library_, {.adapter = "near", .mac = kOurs, .buffer = 4 << 20});
  ASSERT_TRUE(port.ok()) << port.status();
  PacketSocket far("far");
  const ByteVector frame = MakePacket(PortKind::kPodL2, 1, 1400);
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  batch_.now = std::chrono::seconds(1);
  (*port)->Receive(batch_);
  // Also the drops of the last milliseconds, after which nothing may arrive for long.
  for (int burst = 0; burst < 2; ++burst) {
    const std::uint64_t before = Count(**port, "pcap-dropped");
    for (int i = 0; i < 2000; ++i, ++sent) EXPECT_EQ(far.Send(frame), "");
    while (const std::size_t taken = (*port)->Receive(batch_)) received += taken;
    EXPECT_GT(Count(**port, "pcap-dropped"), before);
    EXPECT_EQ(received + Count(**port, "pcap-dropped"), sent);
  }
  // A buffer that is never empty.
  for (int i = 0; i < 2000; ++i, ++sent) EXPECT_EQ(far.Send(frame), "");
  const std::uint64_t before = Count(**port, "pcap-dropped");
  batch_.now += std::chrono::milliseconds(100);
  received += (*port)->Receive(batch_);
  EXPECT_GT(Count(**port, "pcap-dropped"), before);
}

// ---- Functions in memory. A capture of "lo" whose frames, queue and refusals the test decides.

struct Npcap {
  std::vector<ByteVector> sent;
  unsigned takes = ~0u;  // bytes that a transmission takes
  std::vector<std::pair<PcapRecord, ByteVector>> arriving;
  int transmissions = 0;
  std::vector<std::string> calls;
  int readings = 0;  // of the statistics
  bool readable = true;
  int descriptor = -1;
};
Npcap* npcap = nullptr;

const auto as = [](auto* function) { return reinterpret_cast<void*>(function); };

const std::map<std::string, void*>& NpcapFunctions() {
  static int handle;
  static const std::map<std::string, void*> functions = {
      {"pcap_lib_version", as(+[]() { return "Npcap version 1.79, based on libpcap 1.10.4"; })},
      {"pcap_create",
       as(+[](const char*, char*) { return reinterpret_cast<PcapHandle*>(&handle); })},
      {"pcap_set_snaplen", as(+[](PcapHandle*, int) { return 0; })},
      {"pcap_set_promisc", as(+[](PcapHandle*, int on) {
         npcap->calls.push_back("promiscuous " + std::to_string(on));
         return 0;
       })},
      {"pcap_set_timeout", as(+[](PcapHandle*, int) { return 0; })},
      {"pcap_set_buffer_size", as(+[](PcapHandle*, int) { return 0; })},
      {"pcap_activate", as(+[](PcapHandle*) { return 0; })},
      {"pcap_statustostr", as(+[](int) { return "?"; })},
      {"pcap_setnonblock", as(+[](PcapHandle*, int, char*) { return 0; })},
      {"pcap_datalink", as(+[](PcapHandle*) { return kPcapEthernet; })},
      {"pcap_compile",
       as(+[](PcapHandle*, PcapProgram*, const char*, int, std::uint32_t) { return 0; })},
      {"pcap_setfilter", as(+[](PcapHandle*, PcapProgram*) { return 0; })},
      {"pcap_freecode", as(+[](PcapProgram*) {})},
      {"pcap_next_ex", as(+[](PcapHandle*, PcapRecord** record, const std::byte** bytes) {
         static std::pair<PcapRecord, ByteVector> present;
         if (npcap->arriving.empty()) return 0;
         present = npcap->arriving.front();
         npcap->arriving.erase(npcap->arriving.begin());
         *record = &present.first;
         *bytes = present.second.data();
         return 1;
       })},
      {"pcap_sendpacket", as(+[](PcapHandle*, const std::byte* bytes, int size) {
         npcap->sent.emplace_back(bytes, bytes + size);
         return 0;
       })},
      {"pcap_stats", as(+[](PcapHandle*, PcapStatistics* statistics) {
         ++npcap->readings;
         if (!npcap->readable) return -1;
         statistics->dropped = 5;
         return 0;
       })},
      {"pcap_geterr", as(+[](PcapHandle*) { return const_cast<char*>(""); })},
      {"pcap_close", as(+[](PcapHandle*) {})},
      {"pcap_set_immediate_mode", as(+[](PcapHandle*, int) {
         npcap->calls.push_back("immediate");
         return 0;
       })},
      {"pcap_setmintocopy", as(+[](PcapHandle*, int bytes) {
         npcap->calls.push_back("mintocopy " + std::to_string(bytes));
         return 0;
       })},
      {"pcap_getevent", as(+[](PcapHandle*) { return reinterpret_cast<void*>(77); })},
      {"pcap_sendqueue_alloc", as(+[](unsigned bytes) {
         return new PcapSendQueue{bytes, 0, new char[bytes]};
       })},
      {"pcap_sendqueue_destroy", as(+[](PcapSendQueue* queue) {
         delete[] queue->buffer;
         delete queue;
       })},
      {"pcap_sendqueue_queue",
       as(+[](PcapSendQueue* queue, const PcapRecord* record, const std::byte* bytes) {
         const unsigned size = static_cast<unsigned>(sizeof *record) + record->captured;
         if (queue->used + size > queue->capacity) return -1;
         std::copy_n(reinterpret_cast<const char*>(record), sizeof *record,
                     queue->buffer + queue->used);
         std::copy_n(reinterpret_cast<const char*>(bytes), record->captured,
                     queue->buffer + queue->used + sizeof *record);
         queue->used += size;
         return 0;
       })},
      {"pcap_sendqueue_transmit", as(+[](PcapHandle*, PcapSendQueue* queue, int) {
         ++npcap->transmissions;
         unsigned at = 0;
         while (at < queue->used) {
           PcapRecord record;
           std::copy_n(queue->buffer + at, sizeof record, reinterpret_cast<char*>(&record));
           const unsigned size = static_cast<unsigned>(sizeof record) + record.captured;
           if (at + size > npcap->takes) break;
           const auto* bytes =
               reinterpret_cast<const std::byte*>(queue->buffer + at + sizeof record);
           npcap->sent.emplace_back(bytes, bytes + record.captured);
           at += size;
         }
         return at;
       })},
  };
  return functions;
}

class NpcapTest : public ::testing::Test {
 protected:
  NpcapTest() { npcap = &its_; }

  static absl::StatusOr<PcapLibrary> Library(std::map<std::string, void*> functions) {
    return PcapLibrary::From([&](const char* name) -> void* {
      const auto found = functions.find(name);
      return found == functions.end() ? nullptr : found->second;
    });
  }
  std::unique_ptr<PcapPort> Open(std::map<std::string, void*> functions = NpcapFunctions()) {
    library_ = *Library(std::move(functions));
    return *PcapPort::Open(library_, {.adapter = "lo", .mac = kOurs});
  }
  // Verdicts of `count` packets of `size` bytes.
  std::vector<Verdict> Send(PcapPort& port, std::size_t count, std::uint32_t size) {
    batch_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      Packet packet = slab_.Lend(i);
      std::fill_n(packet.data, size, static_cast<std::byte>(i));
      packet.length = size;
      batch_.Add(packet);
    }
    port.Send(batch_);
    std::vector<Verdict> verdicts;
    for (const Packet& packet : batch_) verdicts.push_back(packet.verdict);
    return verdicts;
  }

  Npcap its_;
  PcapLibrary library_;
  Batch batch_;
  PacketSlab slab_;
};

TEST_F(NpcapTest, ItsCallsAreUsed) {
  const auto port = Open();
  EXPECT_THAT(its_.calls, ElementsAre("promiscuous 1", "immediate", "mintocopy 0"));
  EXPECT_THAT(port->wait_handles(), ElementsAre(77));
  EXPECT_EQ(Send(*port, 3, 100), std::vector<Verdict>(3, Verdict::kForward));
  EXPECT_EQ(its_.transmissions, 1) << "one call for a batch";
  ASSERT_EQ(its_.sent.size(), 3u);
  EXPECT_EQ(its_.sent[2], ByteVector(100, std::byte{2}));
}

TEST_F(NpcapTest, ABatchLargerThanTheQueueIsSentInParts) {
  const auto port = Open();
  EXPECT_EQ(Send(*port, 100, 60'000), std::vector<Verdict>(100, Verdict::kForward));
  EXPECT_EQ(its_.transmissions, 6);
  ASSERT_EQ(its_.sent.size(), 100u);
  for (std::size_t i = 0; i < its_.sent.size(); ++i)
    EXPECT_EQ(its_.sent[i][0], static_cast<std::byte>(i));
}

// Half a packet is none, and a buffer has room for the longest packet only.
TEST_F(NpcapTest, FramesThatAreCutOrTooLongAreCountedAndNotDelivered) {
  const auto port = Open();
  const auto arrive = [&](std::uint32_t captured, std::uint32_t length) {
    its_.arriving.push_back({{0, 0, captured, length}, ByteVector(captured)});
  };
  arrive(100, 101);
  arrive(kMaxPacket + 1, kMaxPacket + 1);
  arrive(0, 0);
  arrive(kMaxPacket, kMaxPacket);
  EXPECT_EQ(port->Receive(batch_), 4u) << "what was read";
  ASSERT_EQ(batch_.size(), 1u);
  EXPECT_EQ(batch_[0].length, kMaxPacket);
  EXPECT_EQ(port->Counts()[2].name, "pcap-cut");
  EXPECT_EQ(port->Counts()[2].value, 3u);
}

TEST_F(NpcapTest, WhatATransmissionDidNotTakeHasItsVerdict) {
  const auto port = Open();
  its_.takes = 2 * (sizeof(PcapRecord) + 100) + 50;
  EXPECT_THAT(Send(*port, 4, 100), ElementsAre(Verdict::kForward, Verdict::kForward,
                                               Verdict::kPodFull, Verdict::kPodFull));
  its_.takes = ~0u;
  EXPECT_EQ(Send(*port, 1, 100), std::vector<Verdict>(1, Verdict::kForward));
  EXPECT_EQ(its_.sent.size(), 3u) << "what was refused is not sent later";
}

// Each optional function has a plain way round it.
TEST_F(NpcapTest, WithoutOptionalCallsPacketsAreSentOneByOneAndPolled) {
  std::map<std::string, void*> functions = NpcapFunctions();
  for (const char* name : {"pcap_set_immediate_mode", "pcap_setmintocopy", "pcap_getevent"})
    functions.erase(name);
  for (const char* name : {"pcap_sendqueue_alloc", "pcap_sendqueue_destroy", "pcap_sendqueue_queue",
                           "pcap_sendqueue_transmit"}) {
    its_ = {};
    std::map<std::string, void*> less = functions;
    less.erase(name);
    const auto port = Open(less);
    EXPECT_TRUE(port->wait_handles().empty());
    EXPECT_EQ(Send(*port, 3, 100), std::vector<Verdict>(3, Verdict::kForward));
    EXPECT_EQ(its_.transmissions, 0) << name;
    EXPECT_EQ(its_.sent.size(), 3u);
  }
}

// Wine exports the functions, but a call ends the process.
TEST_F(NpcapTest, OptionalCallsOfAnotherWpcapAreNotUsed) {
  std::map<std::string, void*> functions = NpcapFunctions();
  functions["pcap_lib_version"] = as(+[]() { return "libpcap version 1.10.3 (with TPACKET_V3)"; });
  const auto port = Open(functions);
  EXPECT_THAT(its_.calls, ElementsAre("promiscuous 1"));
  EXPECT_TRUE(port->wait_handles().empty());
  EXPECT_EQ(Send(*port, 1, 100), std::vector<Verdict>(1, Verdict::kForward));
  EXPECT_EQ(its_.transmissions, 0);
}

TEST_F(NpcapTest, TheDescriptorOfALibpcapIsWaitedForAndDoesNotBlock) {
  std::map<std::string, void*> functions = NpcapFunctions();
  functions["pcap_lib_version"] = as(+[]() { return "libpcap version 1.10.3"; });
  functions["pcap_get_selectable_fd"] = as(+[](PcapHandle*) { return npcap->descriptor; });
  its_.descriptor = ::eventfd(0, EFD_CLOEXEC);
  const auto port = Open(functions);
  EXPECT_THAT(its_.calls, ElementsAre("promiscuous 1", "immediate"));
  EXPECT_THAT(port->wait_handles(), ElementsAre(its_.descriptor));
  EXPECT_NE(::fcntl(its_.descriptor, F_GETFL) & O_NONBLOCK, 0);
  ::close(its_.descriptor);
}

TEST_F(NpcapTest, ACaptureMayCollectFramesAndLeaveThoseForOthers) {
  library_ = *Library(NpcapFunctions());
  EXPECT_TRUE(
      PcapDevice::Open(library_, {.adapter = "lo", .immediate = false, .promiscuous = false}).ok());
  EXPECT_THAT(its_.calls, ElementsAre("promiscuous 0", "mintocopy 0"));
}

TEST_F(NpcapTest, ATimeIsInTheUnitThatTheLibraryAccepted) {
  std::map<std::string, void*> functions = NpcapFunctions();
  void* const accept = as(+[](PcapHandle*, int) { return 0; });
  void* const refuse = as(+[](PcapHandle*, int) { return -12; });
  for (const bool nanoseconds : {true, false}) {
    functions["pcap_set_tstamp_precision"] = nanoseconds ? accept : refuse;
    library_ = *Library(functions);
    const auto device = PcapDevice::Open(library_, {.adapter = "lo"});
    ASSERT_TRUE(device.ok()) << device.status();
    its_.arriving.push_back({{1, 5, 1, 1}, ByteVector(1)});
    CaptureRecord record;
    ASSERT_EQ((*device)->Next(record), PcapDevice::Read::kFrame);
    EXPECT_EQ(record.time, CaptureTime(nanoseconds ? 1'000'000'005 : 1'000'005'000));
  }
}

TEST_F(NpcapTest, ARefusalOfTheLibraryIsAnError) {
  const struct {
    const char* function;
    void* instead;
    const char* error;
  } rows[] = {
      {"pcap_create", as(+[](const char*, char* error) {
         error[0] = '!';
         return static_cast<PcapHandle*>(nullptr);
       }),
       "adapter lo cannot be captured: !"},
      {"pcap_activate", as(+[](PcapHandle*) { return -1; }), "adapter lo cannot be captured: ?"},
      {"pcap_setnonblock", as(+[](PcapHandle*, int, char*) { return -1; }),
       "adapter lo cannot be read without waiting: "},
      {"pcap_datalink", as(+[](PcapHandle*) { return 113; }),
       "adapter lo has neither Ethernet frames nor IP packets (link type 113); name another "
       "adapter"},
      {"pcap_compile",
       as(+[](PcapHandle*, PcapProgram*, const char*, int, std::uint32_t) { return -1; }),
       ""},  // there is no filter
  };
  for (const auto& row : rows) {
    std::map<std::string, void*> functions = NpcapFunctions();
    functions[row.function] = row.instead;
    library_ = *Library(functions);
    EXPECT_EQ(MessageOf(PcapDevice::Open(library_, {.adapter = "lo"}).status()), row.error)
        << row.function;
  }
}

TEST_F(NpcapTest, DroppedPacketsKeepTheirVerdictAndTakeNoRoomInTheQueue) {
  const auto port = Open();
  its_.takes = 2 * (sizeof(PcapRecord) + 100);
  for (std::size_t i = 0; i < 4; ++i) batch_.Add(slab_.Lend(i)).length = i == 1 ? 0u : 100u;
  batch_[1].verdict = Verdict::kNoRoute;
  port->Send(batch_);
  EXPECT_EQ(its_.sent.size(), 2u);
  EXPECT_EQ(batch_[1].verdict, Verdict::kNoRoute);
  EXPECT_EQ(batch_[2].verdict, Verdict::kForward);
  EXPECT_EQ(batch_[3].verdict, Verdict::kPodFull);
}

TEST_F(NpcapTest, WhatTheQueueNeverTakesIsAnError) {
  std::map<std::string, void*> functions = NpcapFunctions();
  functions["pcap_sendqueue_queue"] =
      as(+[](PcapSendQueue*, const PcapRecord*, const std::byte*) { return -1; });
  const auto port = Open(functions);
  EXPECT_EQ(Send(*port, 1, 100), std::vector<Verdict>(1, Verdict::kPodError));
  EXPECT_EQ(its_.transmissions, 0);
}

TEST_F(NpcapTest, DropsAreReadAfterABurst) {
  const auto port = Open();
  const auto receive = [&] {
    port->Receive(batch_);
    return its_.readings;
  };
  for (int i = 0; i < 16; ++i) its_.arriving.push_back({{0, 0, 100, 100}, ByteVector(100)});
  EXPECT_EQ(receive(), 0) << "it goes on";
  EXPECT_EQ(receive(), 1);
  EXPECT_EQ(receive(), 1) << "once";
  EXPECT_EQ(port->Counts()[0].value, 5u);
  batch_.now += std::chrono::seconds(1);
  its_.readable = false;
  EXPECT_EQ(receive(), 2);
  EXPECT_EQ(port->Counts()[0].value, 5u) << "the last known";
}

TEST_F(NpcapTest, AnOldLibraryIsRefusedByWhatItLacks) {
  std::map<std::string, void*> functions = NpcapFunctions();
  functions.erase("pcap_create");
  functions.erase("pcap_activate");
  EXPECT_EQ(Library(functions).status(),
            absl::UnavailableError("it is older than libpcap 1.5, and lacks pcap_create, "
                                   "pcap_activate; install a newer one"));
}

}  // namespace
}  // namespace weft::dataplane
