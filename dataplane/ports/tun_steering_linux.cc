// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/tun_steering_linux.h"

#include <linux/bpf.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "dataplane/ports/file_descriptor_linux.h"

namespace weft::dataplane {
namespace {

// Offsets into an IP packet: its version, and the last four bytes of the source address.
constexpr std::int32_t kVersion = 0;
constexpr std::int32_t kSourceV4 = 12;
constexpr std::int32_t kSourceV6 = 20;

// BPF_LD | BPF_ABS reads the packet in host order into r0, wants the context in r6, and ends the
// program with 0 where the packet is too short.
constexpr std::array<bpf_insn, 7> kProgram = {{
    {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1, .off = 0, .imm = 0},
    {.code = BPF_LD | BPF_ABS | BPF_B, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = kVersion},
    {.code = BPF_JMP | BPF_JGE | BPF_K, .dst_reg = 0, .src_reg = 0, .off = 2, .imm = 0x60},
    {.code = BPF_LD | BPF_ABS | BPF_W, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = kSourceV4},
    {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
    {.code = BPF_LD | BPF_ABS | BPF_W, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = kSourceV6},
    {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
}};

}  // namespace

bool SteerBySource(int tun) {
  static constexpr char kLicense[] = "Apache-2.0";
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
  load.insns = reinterpret_cast<std::uint64_t>(kProgram.data());
  load.insn_cnt = kProgram.size();
  load.license = reinterpret_cast<std::uint64_t>(kLicense);
  const FileDescriptor program(
      static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof load)));
  if (!program.valid()) return false;
  int descriptor = program.get();  // the device holds the program from then on
  return ::ioctl(tun, TUNSETSTEERINGEBPF, &descriptor) == 0;
}

}  // namespace weft::dataplane
