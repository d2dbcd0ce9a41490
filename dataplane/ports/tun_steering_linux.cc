// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/tun_steering_linux.h"

#include <linux/bpf.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "dataplane/ports/bpf_linux.h"
#include "vxlan/bytes.h"

namespace weft::dataplane {
namespace {

// Offsets into an IP packet: its version, and the last two bytes of the source address.
constexpr std::int32_t kVersion = 0;
constexpr std::int32_t kSourceV4 = 14;
constexpr std::int32_t kSourceV6 = 22;
constexpr std::uint32_t kSources = 1 << 12;

constexpr std::chrono::milliseconds kStanding{2};
constexpr std::chrono::seconds kUnused{1};
constexpr std::size_t kQueueLength = 500;  // TUN_READQ_SIZE, drivers/net/tun.c

std::uint32_t SourceOf(const Packet& packet) {
  const bool v4 = Load8(packet.data + kVersion) < 0x60;
  const std::uint32_t at = v4 ? kSourceV4 : kSourceV6;
  return packet.length < at + 2 ? 0 : LoadBe16(packet.data + at) % kSources;
}

FileDescriptor MakeMap() {
  bpf_attr map{};
  map.map_type = BPF_MAP_TYPE_ARRAY;
  map.key_size = map.value_size = sizeof(std::uint32_t);
  map.max_entries = kSources;
  return Bpf(BPF_MAP_CREATE, map);
}

// map[source], or source % shared where that is 0.
FileDescriptor LoadProgram(int map, std::int32_t shared) {
  // BPF_LD | BPF_ABS reads the packet in host order into r0, requires the context in r6, and ends
  // the program with 0 if the packet is too short. Jump offsets count the skipped instructions.
  const std::array<bpf_insn, 20> program = {{
      BpfCode(BPF_ALU64 | BPF_MOV | BPF_X, 6, 1, 0, 0),
      BpfCode(BPF_LD | BPF_ABS | BPF_B, 0, 0, 0, kVersion),
      BpfCode(BPF_JMP | BPF_JGE | BPF_K, 0, 0, 2, 0x60),
      BpfCode(BPF_LD | BPF_ABS | BPF_H, 0, 0, 0, kSourceV4),
      BpfCode(BPF_JMP | BPF_JA, 0, 0, 1, 0),
      BpfCode(BPF_LD | BPF_ABS | BPF_H, 0, 0, 0, kSourceV6),
      BpfCode(BPF_ALU64 | BPF_AND | BPF_K, 0, 0, 0, kSources - 1),
      BpfCode(BPF_ALU64 | BPF_MOV | BPF_X, 7, 0, 0, 0),
      BpfCode(BPF_STX | BPF_MEM | BPF_W, 10, 0, -4, 0),  // the key, on the stack
      BpfCode(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0),
      BpfCode(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -4),
      BpfCode(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map),
      BpfCode(0, 0, 0, 0, 0),  // the second half of the previous instruction
      BpfCode(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
      BpfCode(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2, 0),
      BpfCode(BPF_LDX | BPF_MEM | BPF_W, 0, 0, 0, 0),
      BpfCode(BPF_JMP | BPF_JNE | BPF_K, 0, 0, 2, 0),
      BpfCode(BPF_ALU64 | BPF_MOV | BPF_X, 0, 7, 0, 0),
      BpfCode(BPF_ALU64 | BPF_AND | BPF_K, 0, 0, 0, shared - 1),
      BpfCode(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  }};
  return LoadBpf(BPF_PROG_TYPE_SOCKET_FILTER, program);
}

}  // namespace

std::vector<TunSteering> TunSteering::Load(int tun, std::size_t workers) {
  const auto map = std::make_shared<const FileDescriptor>(MakeMap());
  if (!map->valid()) return {};
  const FileDescriptor program = LoadProgram(map->get(), kShared);
  if (!program.valid()) return {};
  int descriptor = program.get();  // the device keeps a reference to the program
  if (::ioctl(tun, TUNSETSTEERINGEBPF, &descriptor) != 0) return {};
  std::vector<TunSteering> steerings;
  for (std::size_t worker = 0; worker < workers; ++worker)
    steerings.push_back(TunSteering(map, worker, workers));
  return steerings;
}

bool TunSteering::MayRead(std::size_t queue, Timestamp now) {
  if (queue < kShared) return true;
  Own& own = own_[queue - kShared];
  own.used = now;
  return own.earlier == 0;
}

void TunSteering::Observe(std::size_t queue, std::size_t packets, const Packet* last, bool more,
                          Timestamp now) {
  if (queue >= kShared) return;
  for (std::size_t i = worker_; i < own_.size(); i += workers_) {
    if (own_[i].shared == queue)
      own_[i].earlier = more ? own_[i].earlier - std::min(own_[i].earlier, packets) : 0;
  }
  std::optional<Timestamp>& since = since_[queue];
  if (!more) {
    since.reset();
    return;
  }
  if (!since) since = now;
  if (now - *since < kStanding || last == nullptr) return;
  since.reset();
  const std::uint32_t source = SourceOf(*last);
  Own* unused = &own_[worker_];
  for (std::size_t i = worker_; i < own_.size(); i += workers_) {
    Own& own = own_[i];
    if (own.used && own.source == source) return;  // packets from before it had its own queue
    if (own.used < unused->used) unused = &own;    // an empty time is less than any other
  }
  if (unused->used) {
    if (now - *unused->used < kUnused) return;
    Set(unused->source, 0);
  }
  *unused = {source, now, queue, kQueueLength};
  Set(source, static_cast<std::uint32_t>(kShared + static_cast<std::size_t>(unused - own_.data())));
}

void TunSteering::Set(std::uint32_t source, std::uint32_t queue) const {
  bpf_attr element{};
  element.map_fd = static_cast<std::uint32_t>(map_->get());
  element.key = reinterpret_cast<std::uint64_t>(&source);
  element.value = reinterpret_cast<std::uint64_t>(&queue);
  // If this fails the source stays in its shared queue, as if there were none for it.
  (void)::syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &element, sizeof element);
}

}  // namespace weft::dataplane
