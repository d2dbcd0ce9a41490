// SPDX-License-Identifier: Apache-2.0
#include "control/host/run_program_linux.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace weft::host {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMostOutput = std::size_t{4} << 20;

enum class Reading : std::uint8_t { kEnded, kLate, kTooMuch };

Reading ReadAll(int fd, steady_clock::time_point deadline, std::string& output) {
  std::array<char, 4096> chunk;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    if (left <= 0) return Reading::kLate;
    pollfd ready{fd, POLLIN, 0};
    const int found = ::poll(&ready, 1, static_cast<int>(left));
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) return Reading::kLate;
    const ssize_t received = ::read(fd, chunk.data(), chunk.size());
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return Reading::kEnded;
    output.append(chunk.data(), static_cast<std::size_t>(received));
    if (output.size() > kMostOutput) return Reading::kTooMuch;
  }
}

// Whether the child exited by itself; at `deadline` it is killed. Sets `state` either way.
absl::StatusOr<bool> WaitFor(pid_t child, steady_clock::time_point deadline, int& state) {
  bool killed = false;
  for (;;) {
    const pid_t ended = ::waitpid(child, &state, killed ? 0 : WNOHANG);
    if (ended == child) return !killed;
    if (ended < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "lost");
    if (ended != 0) continue;
    if (steady_clock::now() >= deadline) {
      ::kill(child, SIGKILL);
      killed = true;
    } else {
      ::poll(nullptr, 0, 1);  // it has closed its output, so it will exit soon
    }
  }
}

int Spawn(const std::vector<std::string>& words, int output, pid_t& child) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  char locale[] = "LC_ALL=C";
  char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  char* const environment[] = {locale, path, nullptr};

  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, ours;
  ::sigemptyset(&none);
  ::sigemptyset(&ours);
  ::sigaddset(&ours, SIGPIPE);  // which flanneld ignores
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &ours);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error =
      ::posix_spawn(&child, arguments[0], &files, &attributes, arguments.data(), environment);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  return error;
}

}  // namespace

absl::StatusOr<ProgramResult> RunProgram(const std::vector<std::string>& words,
                                         std::chrono::milliseconds limit) {
  const auto deadline = steady_clock::now() + limit;
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot run ", words[0]));
  pid_t child = 0;
  const int error = Spawn(words, pipe[1], child);
  ::close(pipe[1]);
  if (error != 0) {
    ::close(pipe[0]);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot run ", words[0]));
  }
  ProgramResult result;
  const Reading reading = ReadAll(pipe[0], deadline, result.output);
  ::close(pipe[0]);
  int state = 0;
  const absl::StatusOr<bool> ended =
      WaitFor(child, reading == Reading::kEnded ? deadline : steady_clock::time_point(), state);
  if (!ended.ok())
    return absl::Status(ended.status().code(),
                        absl::StrCat(words[0], ": ", ended.status().message()));
  if (reading == Reading::kTooMuch) {
    return absl::ResourceExhaustedError(
        absl::StrCat(words[0], " printed more than ", kMostOutput >> 20, " MiB and was stopped"));
  }
  if (!*ended || reading == Reading::kLate) {
    return absl::DeadlineExceededError(
        absl::StrCat(words[0], " did not end within ", limit.count(), " ms and was killed"));
  }
  result.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return result;
}

}  // namespace weft::host
