// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <algorithm>
#include <array>
#include <cwchar>
#include <map>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/child_process.h"
#include "control/command_line.h"
#include "control/file_io.h"
#include "vxlan/text/printable.h"
#include "vxlan/text/utf16_win.h"

namespace weft::control {
namespace {

using std::chrono::steady_clock;

constexpr DWORD kPollMilliseconds = 10;
constexpr std::size_t kMostErrors = std::size_t{4} << 10;

class Handle {
 public:
  Handle() = default;
  explicit Handle(HANDLE handle) : handle_(handle) {}
  ~Handle() { Close(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  HANDLE get() const { return handle_; }
  HANDLE* out() { return &handle_; }
  bool valid() const { return handle_ != nullptr && handle_ != INVALID_HANDLE_VALUE; }
  void Close() {
    if (valid()) ::CloseHandle(handle_);
    handle_ = nullptr;
  }

 private:
  HANDLE handle_ = nullptr;
};

absl::Status CannotStart(DWORD error) {
  return absl::UnavailableError(
      absl::StrCat("cannot be started: ", std::system_category().message(static_cast<int>(error)),
                   " (", error, ")"));
}

// Names of variables are the same in upper and lower case.
struct NameLess {
  bool operator()(const std::wstring& a, const std::wstring& b) const {
    return ::CompareStringOrdinal(a.data(), static_cast<int>(a.size()), b.data(),
                                  static_cast<int>(b.size()), TRUE) == CSTR_LESS_THAN;
  }
};

std::wstring EnvironmentBlock(const ChildSpec& spec) {
  std::map<std::wstring, std::wstring, NameLess> all;
  wchar_t* const strings = spec.inherits_environment ? ::GetEnvironmentStringsW() : nullptr;
  for (const wchar_t* each = strings; each != nullptr && *each != 0;
       each += std::wcslen(each) + 1) {
    const std::wstring text = each;
    const std::size_t equals = text.find(L'=', 1);  // "=C:=C:\folder" is a variable too
    if (equals != std::wstring::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (strings != nullptr) ::FreeEnvironmentStringsW(strings);
  for (const auto& [name, value] : spec.env) all[Utf16(name)] = Utf16(value);
  std::wstring block;
  for (const auto& [name, value] : all) block += name + L'=' + value + L'\0';
  block += L'\0';
  return block;
}

bool OpenPipe(Handle& read, Handle& write) {
  SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
  return ::CreatePipe(read.out(), write.out(), &inherited, 0) &&
         ::SetHandleInformation(read.get(), HANDLE_FLAG_INHERIT, 0);
}

bool Drain(HANDLE pipe, std::size_t most, std::string& into) {
  std::array<char, 4096> chunk;
  for (;;) {
    DWORD there = 0, got = 0;
    if (!::PeekNamedPipe(pipe, nullptr, 0, nullptr, &there, nullptr) || there == 0) return true;
    if (!::ReadFile(pipe, chunk.data(), std::min<DWORD>(there, chunk.size()), &got, nullptr))
      return true;
    const std::size_t room = most - into.size();
    into.append(chunk.data(), std::min<std::size_t>(room, got));
    if (got > room) return false;
  }
}

// The list of the only handles that the child inherits.
class InheritedHandles {
 public:
  explicit InheritedHandles(std::vector<HANDLE> handles) : handles_(std::move(handles)) {
    SIZE_T size = 0;
    ::InitializeProcThreadAttributeList(nullptr, 1, 0, &size);
    memory_.resize(size);
    list_ = reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(memory_.data());
    made_ = ::InitializeProcThreadAttributeList(list_, 1, 0, &size);
    ok_ = made_ &&
          ::UpdateProcThreadAttribute(list_, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, handles_.data(),
                                      handles_.size() * sizeof(HANDLE), nullptr, nullptr);
  }
  ~InheritedHandles() {
    if (made_) ::DeleteProcThreadAttributeList(list_);
  }
  InheritedHandles(const InheritedHandles&) = delete;
  InheritedHandles& operator=(const InheritedHandles&) = delete;
  bool ok() const { return ok_; }
  LPPROC_THREAD_ATTRIBUTE_LIST get() const { return list_; }

 private:
  std::vector<HANDLE> handles_;
  std::vector<std::byte> memory_;
  LPPROC_THREAD_ATTRIBUTE_LIST list_ = nullptr;
  bool made_ = false, ok_ = false;
};

// A job whose processes end with its last handle.
bool MakeJob(Handle& job) {
  *job.out() = ::CreateJobObjectW(nullptr, nullptr);
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits{};
  limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
  return job.valid() && ::SetInformationJobObject(job.get(), JobObjectExtendedLimitInformation,
                                                  &limits, sizeof limits);
}

bool IsProgram(const std::string& file) {
  const DWORD found = ::GetFileAttributesW(control::PathOf(file).c_str());
  return found != INVALID_FILE_ATTRIBUTES && (found & FILE_ATTRIBUTE_DIRECTORY) == 0;
}

// CreateProcessW passes .bat and .cmd files to a shell, which reads quoted words in its own way.
absl::StatusOr<std::string> WithoutShell(std::string file) {
  const std::string lower = absl::AsciiStrToLower(file);
  if (lower.ends_with(".exe") || lower.ends_with(".com")) return file;
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(file), " is a script, which needs a shell; give an .exe"));
}

std::vector<std::string> Candidates(const std::string& file, const std::string& extensions) {
  const std::string name = file.substr(file.find_last_of("/\\") + 1);
  if (name.find('.') != std::string::npos) return {file};
  std::vector<std::string> candidates;
  for (const std::string_view extension :
       absl::StrSplit(extensions.empty() ? ".COM;.EXE" : extensions, ';', absl::SkipEmpty()))
    candidates.push_back(absl::StrCat(file, extension));
  return candidates;
}

}  // namespace

absl::StatusOr<ChildResult> RunChild(const ChildSpec& spec, const std::atomic<bool>& stop) {
  const auto deadline = steady_clock::now() + spec.limit;
  SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
  const Handle input(::CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                   &inherited, OPEN_EXISTING, 0, nullptr));
  Handle output, output_end, errors, errors_end, job;
  if (!input.valid() || !OpenPipe(output, output_end) || !OpenPipe(errors, errors_end) ||
      !MakeJob(job))
    return CannotStart(::GetLastError());
  const InheritedHandles handles({input.get(), output_end.get(), errors_end.get()});
  if (!handles.ok()) return CannotStart(::GetLastError());

  STARTUPINFOEXW startup{};
  startup.StartupInfo.cb = sizeof startup;
  startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
  startup.StartupInfo.hStdInput = input.get();
  startup.StartupInfo.hStdOutput = output_end.get();
  startup.StartupInfo.hStdError = errors_end.get();
  startup.lpAttributeList = handles.get();
  std::vector<std::string> words = {spec.program};
  words.insert(words.end(), spec.args.begin(), spec.args.end());
  std::wstring line = Utf16(QuotedCommandLine(words));
  std::wstring environment = EnvironmentBlock(spec);
  PROCESS_INFORMATION started{};
  const std::wstring program = control::PathOf(spec.program).wstring();
  if (!::CreateProcessW(program.c_str(), line.data(), nullptr, nullptr, TRUE,
                        CREATE_SUSPENDED | CREATE_NO_WINDOW | CREATE_UNICODE_ENVIRONMENT |
                            EXTENDED_STARTUPINFO_PRESENT,
                        environment.data(), nullptr, &startup.StartupInfo, &started))
    return CannotStart(::GetLastError());
  const Handle child(started.hProcess), thread(started.hThread);
  if (!::AssignProcessToJobObject(job.get(), child.get())) {
    const DWORD error = ::GetLastError();
    ::TerminateProcess(child.get(), 1);
    return CannotStart(error);
  }
  ::ResumeThread(thread.get());
  output_end.Close();
  errors_end.Close();

  ChildResult result;
  absl::Status ended;
  for (;;) {
    const bool exited = ::WaitForSingleObject(child.get(), kPollMilliseconds) == WAIT_OBJECT_0;
    if (!Drain(output.get(), spec.most_output, result.output)) {
      ended = absl::ResourceExhaustedError(
          absl::StrCat("printed more than ", spec.most_output, " bytes and was killed"));
    }
    Drain(errors.get(), kMostErrors, result.errors);
    if (ended.ok() && !exited && stop) ended = absl::CancelledError("was killed");
    if (ended.ok() && !exited && steady_clock::now() >= deadline) {
      ended = absl::DeadlineExceededError(
          absl::StrCat("did not end within ", spec.limit.count(), " ms and was killed"));
    }
    if (exited || !ended.ok()) break;
  }
  ::TerminateJobObject(job.get(), 1);
  if (!ended.ok()) return ended;
  DWORD code = 0;
  ::GetExitCodeProcess(child.get(), &code);
  result.exit_code = static_cast<int>(code);
  return result;
}

absl::StatusOr<std::string> FindProgram(const std::string& command, const std::string& path,
                                        const std::string& extensions) {
  const auto is_absolute = [](std::string_view text) {
    return control::PathOf(text).is_absolute();  // with a drive or a server
  };
  if (is_absolute(command)) {
    for (std::string& file : Candidates(command, extensions))
      if (IsProgram(file)) return WithoutShell(std::move(file));
    return absl::NotFoundError(absl::StrCat(Quoted(command), " is no program"));
  }
  if (command.empty() || command.find_first_of("/\\:") != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(command), " is a relative path; write the whole path, or a name"));
  }
  for (const std::string_view folder : absl::StrSplit(path, ';')) {
    if (!is_absolute(folder)) continue;  // relative to the current folder
    for (std::string& file : Candidates(absl::StrCat(folder, "\\", command), extensions))
      if (IsProgram(file)) return WithoutShell(std::move(file));
  }
  return absl::NotFoundError(absl::StrCat(Quoted(command), " is in no folder of PATH"));
}

}  // namespace weft::control
