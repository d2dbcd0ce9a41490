// SPDX-License-Identifier: Apache-2.0
// The system call bpf(2), and instructions for it. Private to dataplane/ports.
#pragma once

#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <span>

#include "dataplane/file_descriptor_linux.h"

namespace weft::dataplane {

// Invalid, and errno is set: the kernel refused.
inline FileDescriptor Bpf(bpf_cmd command, bpf_attr& attributes) {
  return FileDescriptor(
      static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes)));
}

// Registers `to` and `from` are 0 to 10.
inline bpf_insn BpfCode(int code, int to, int from, int offset, std::int32_t immediate) {
  bpf_insn instruction{};
  instruction.code = static_cast<std::uint8_t>(code);
  instruction.dst_reg = static_cast<std::uint8_t>(to & 0xf);
  instruction.src_reg = static_cast<std::uint8_t>(from & 0xf);
  instruction.off = static_cast<std::int16_t>(offset);
  instruction.imm = immediate;
  return instruction;
}

inline FileDescriptor LoadBpf(bpf_prog_type type, std::span<const bpf_insn> program) {
  static constexpr char kLicense[] = "Apache-2.0";
  bpf_attr load{};
  load.prog_type = type;
  load.insns = reinterpret_cast<std::uint64_t>(program.data());
  load.insn_cnt = static_cast<std::uint32_t>(program.size());
  load.license = reinterpret_cast<std::uint64_t>(kLicense);
  return Bpf(BPF_PROG_LOAD, load);
}

}  // namespace weft::dataplane
