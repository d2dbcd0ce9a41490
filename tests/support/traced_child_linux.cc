// SPDX-License-Identifier: Apache-2.0
#include "tests/support/traced_child_linux.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>

namespace weft::testing {
namespace {

std::string TextAt(pid_t thread, std::uint64_t address) {
  std::array<char, 512> buffer{};
  iovec local{buffer.data(), buffer.size() - 1};
  iovec remote{reinterpret_cast<void*>(address), buffer.size() - 1};
  if (::process_vm_readv(thread, &local, 1, &remote, 1, 0) <= 0) return "?";
  return buffer.data();
}

// "/path" or "socket:[7]", without the brackets' number.
std::string FileOf(pid_t thread, std::uint64_t descriptor) {
  const std::string link =
      "/proc/" + std::to_string(thread) + "/fd/" + std::to_string(static_cast<int>(descriptor));
  std::array<char, PATH_MAX> buffer{};
  if (::readlink(link.c_str(), buffer.data(), buffer.size() - 1) < 0) return "?";
  const std::string text = buffer.data();
  return text.substr(0, text.find(":["));
}

// What the call that begins changes; empty: nothing that lasts. Standard output, eventfds and pipes
// are the process's own.
std::optional<std::string> ChangeOf(pid_t thread, const user_regs_struct& call,
                                    const std::string& output) {
  switch (call.orig_rax) {
    case SYS_unlink:
    case SYS_rmdir:
    case SYS_mkdir:
    case SYS_chmod:
    case SYS_rename:
      return "change " + TextAt(thread, call.rdi);
    case SYS_unlinkat:
    case SYS_mkdirat:
    case SYS_fchmodat:
    case SYS_renameat:
    case SYS_renameat2:
      return "change " + TextAt(thread, call.rsi);
    case SYS_truncate:
    case SYS_link:
    case SYS_symlink:
      return "change " + TextAt(thread, call.rdi);
    case SYS_openat:
      if ((call.rdx & (O_CREAT | O_TRUNC)) == 0) return std::nullopt;
      return "create " + TextAt(thread, call.rsi);
    case SYS_ftruncate:
      return "write " + FileOf(thread, call.rdi);
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64: {
      const std::string file = FileOf(thread, call.rdi);
      if (file == output || file == "pipe" || file.starts_with("anon_inode")) return std::nullopt;
      return file == "socket" ? "send" : "write " + file;
    }
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
      return "send";
    default:
      return std::nullopt;
  }
}

}  // namespace

TracedRun RunTraced(const std::vector<std::string>& words, const std::string& output,
                    std::size_t kill_at) {
  TracedRun run;
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::dup2(file, 1);
    ::dup2(file, 2);
    // LeakSanitizer traces too, and a process has one tracer.
    const char* const former = std::getenv("ASAN_OPTIONS");
    ::setenv("ASAN_OPTIONS", (std::string(former ? former : "") + ":detect_leaks=0").c_str(), 1);
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC);
  ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  std::set<pid_t> inside;  // threads in a call
  bool started = false;    // the program has replaced this one
  for (;;) {
    const pid_t thread = ::waitpid(-1, &status, __WALL);
    if (thread < 0) break;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      inside.erase(thread);
      if (thread != child) continue;
      run.killed = WIFSIGNALED(status);
      run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      break;
    }
    const int signal = WSTOPSIG(status);
    long deliver = 0;
    if (signal == (SIGTRAP | 0x80)) {
      user_regs_struct call{};
      iovec registers{&call, sizeof call};
      ::ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &registers);
      if (!inside.erase(thread)) {
        inside.insert(thread);
        if (const auto change = started ? ChangeOf(thread, call, output) : std::nullopt) {
          if (run.changes.size() == kill_at) {
            ::kill(child, SIGKILL);
            continue;
          }
          run.changes.push_back(*change);
        }
      }
    } else if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXEC << 8))) {
      started = true;
    } else if (signal != SIGTRAP && signal != SIGSTOP) {
      deliver = signal;
    }
    ::ptrace(PTRACE_SYSCALL, thread, nullptr, deliver);
  }
  return run;
}

}  // namespace weft::testing
