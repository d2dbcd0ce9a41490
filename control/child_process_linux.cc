// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/child_process.h"
#include "vxlan/text/printable.h"

namespace weft::control {
namespace {

using std::chrono::steady_clock;

constexpr int kPollMilliseconds = 20;
constexpr std::size_t kMostErrors = std::size_t{4} << 10;
// Of the supervisor: its argv[0], and where it writes the errno if the program cannot be started.
constexpr char kSupervisor[] = "weft-supervisor";
constexpr int kReport = STDERR_FILENO + 1;

class Pipe {
 public:
  Pipe() = default;
  ~Pipe() {
    for (const int end : ends_)
      if (end >= 0) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool Open() {
    return ::pipe2(ends_.data(), O_CLOEXEC) == 0 && ::fcntl(read(), F_SETFL, O_NONBLOCK) == 0;
  }
  int read() const { return ends_[0]; }
  int write() const { return ends_[1]; }
  void CloseWrite() { ::close(std::exchange(ends_[1], -1)); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

std::vector<std::string> MergedEnvironment(const ChildSpec& spec) {
  std::map<std::string, std::string> all;
  for (char** each = environ; spec.inherits_environment && *each != nullptr; ++each) {
    const std::string text = *each;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : spec.env) all[name] = value;
  std::vector<std::string> merged;
  merged.reserve(all.size());
  for (const auto& [name, value] : all) merged.push_back(absl::StrCat(name, "=", value));
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Of this process, which has one thread. False: it has none, or the kernel does not list them.
bool KillChildren() {
  bool any = false;
  std::ifstream list("/proc/thread-self/children");
  for (pid_t child = 0; list >> child;) any = ::kill(child, SIGKILL) == 0 || any;
  return any;
}

// With signals as a program expects them but for those that are blocked, in a process group of its
// own. Returns an errno.
int Spawn(pid_t& child, const char* program, char* const* words, char* const* environment,
          const posix_spawn_file_actions_t* files, const sigset_t& blocked) {
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);  // which flanneld ignores
  ::posix_spawnattr_setsigmask(&attributes, &blocked);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int error = ::posix_spawn(&child, program, files, &attributes, words, environment);
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

// Those that are blocked in the supervisor, of its children and to end the program; or none.
sigset_t BlockedIn(bool supervisor) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGCHLD, SIGTERM})
    if (supervisor) ::sigaddset(&signals, number);
  return signals;
}

// The supervisor, if this process is one (SpawnChild): the program's parent until it ends, and its
// reaper, also of what it starts in a session of its own. Exits with the program's exit code.
[[gnu::constructor]] void SuperviseIfSupervisor(int count, char** words, char** environment) {
  if (count < 2 || std::strcmp(words[0], kSupervisor) != 0) return;
  ::fcntl(kReport, F_SETFD, FD_CLOEXEC);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // of the thread that started this process, which waits
  pid_t child = 0;
  const int error = Spawn(child, words[1], words + 1, environment, nullptr, BlockedIn(false));
  if (error != 0) ::_exit(::write(kReport, &error, sizeof error) == sizeof error ? 0 : 1);
  ::closefrom(0);
  const sigset_t awaited = BlockedIn(true);
  int state = 0;
  for (bool ended = false; !ended;) {
    if (::sigwaitinfo(&awaited, nullptr) == SIGTERM) break;
    int its = 0;
    for (pid_t gone; (gone = ::waitpid(-1, &its, WNOHANG)) > 0;) {
      if (gone != child) continue;
      state = its;
      ended = true;
    }
  }
  ::kill(-child, SIGKILL);  // its process group
  while (KillChildren() && (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR)) {
  }
  ::_exit(WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state));
}

// The program, or its supervisor: this program once more. Neither is a fork of this process, which
// would copy its page tables and make each first write to a page, of packets too, copy that page.
int SpawnChild(const ChildSpec& spec, int output, int errors, int report, pid_t& child) {
  std::vector<std::string> words = {spec.program};
  if (spec.supervised) words.insert(words.begin(), kSupervisor);
  words.insert(words.end(), spec.args.begin(), spec.args.end());
  std::vector<std::string> environment = MergedEnvironment(spec);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
  if (spec.supervised) ::posix_spawn_file_actions_adddup2(&files, report, kReport);
  ::posix_spawn_file_actions_addclosefrom_np(&files, spec.supervised ? kReport + 1 : kReport);
  const int error = Spawn(child, spec.supervised ? "/proc/self/exe" : spec.program.c_str(),
                          Pointers(words).data(), Pointers(environment).data(), &files,
                          BlockedIn(spec.supervised));
  ::posix_spawn_file_actions_destroy(&files);
  return error;
}

// All that is there now; beyond `most` bytes it is read and dropped. False: `most` was exceeded.
bool Drain(int fd, std::size_t most, std::string& into) {
  std::array<char, 4096> chunk;
  for (;;) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    const std::size_t room = most - into.size();
    into.append(chunk.data(), std::min(room, static_cast<std::size_t>(got)));
    if (static_cast<std::size_t>(got) > room) return false;
  }
}

}  // namespace

absl::StatusOr<ChildResult> RunChild(const ChildSpec& spec, const std::atomic<bool>& stop) {
  const auto deadline = steady_clock::now() + spec.limit;
  // Whoever started us may have ignored it: then no child's end can be awaited.
  ::signal(SIGCHLD, SIG_DFL);
  Pipe output, errors, report;
  if (!output.Open() || !errors.Open() || !report.Open())
    return absl::ErrnoToStatus(errno, "cannot be started");
  pid_t child = 0;  // or its supervisor
  int error = SpawnChild(spec, output.write(), errors.write(), report.write(), child);
  if (error != 0) return absl::ErrnoToStatus(error, "cannot be started");
  output.CloseWrite();
  errors.CloseWrite();

  ChildResult result;
  absl::Status ended;
  int state = 0;
  for (;;) {
    // Before the pipes are read, so that what it printed last is read too. WNOWAIT: its number
    // stays its own until it is awaited below.
    siginfo_t info{};
    const bool exited =
        ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == child;
    if (!Drain(output.read(), spec.most_output, result.output)) {
      ended = absl::ResourceExhaustedError(
          absl::StrCat("printed more than ", spec.most_output, " bytes and was killed"));
    }
    Drain(errors.read(), kMostErrors, result.errors);
    if (ended.ok() && !exited && stop) ended = absl::CancelledError("was killed");
    if (ended.ok() && !exited && steady_clock::now() >= deadline) {
      ended = absl::DeadlineExceededError(
          absl::StrCat("did not end within ", spec.limit.count(), " ms and was killed"));
    }
    if (exited || !ended.ok()) break;
    std::array<pollfd, 2> ready{{{output.read(), POLLIN, 0}, {errors.read(), POLLIN, 0}}};
    // A closed pipe is always ready; only its end is awaited then.
    if (::poll(ready.data(), ready.size(), kPollMilliseconds) > 0 &&
        ((ready[0].revents | ready[1].revents) & POLLIN) == 0)
      ::poll(nullptr, 0, 1);
  }
  ::kill(spec.supervised ? child : -child, spec.supervised ? SIGTERM : SIGKILL);
  while (::waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  if (!ended.ok()) return ended;
  if (::read(report.read(), &error, sizeof error) == sizeof error)
    return absl::ErrnoToStatus(error, "cannot be started");
  result.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return result;
}

absl::StatusOr<std::string> FindProgram(const std::string& command, const std::string& path,
                                        const std::string&) {
  std::string hidden;
  const auto is_program = [&hidden](const std::string& file) {
    struct stat info {};
    if (::stat(file.c_str(), &info) == 0)
      return S_ISREG(info.st_mode) && ::access(file.c_str(), X_OK) == 0;
    if (errno != ENOENT && errno != ENOTDIR)
      hidden = absl::StrCat(" (", file, ": ", std::strerror(errno), ")");
    return false;
  };
  if (command.starts_with('/')) {
    if (is_program(command)) return command;
    return absl::NotFoundError(absl::StrCat(Quoted(command), " is no program", hidden));
  }
  if (command.empty() || command.find('/') != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(command), " is a relative path; write the whole path, or a name"));
  }
  for (const std::string_view folder : absl::StrSplit(path, ':')) {
    if (!folder.starts_with('/')) continue;  // relative to the current folder
    std::string file = absl::StrCat(folder, "/", command);
    if (is_program(file)) return file;
  }
  return absl::NotFoundError(absl::StrCat(Quoted(command), " is in no folder of PATH", hidden));
}

}  // namespace weft::control
