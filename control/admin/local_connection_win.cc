// SPDX-License-Identifier: Apache-2.0
#include <windows.h>

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/admin/endpoint.h"
#include "control/admin/local_connection.h"
#include "control/file_io.h"
#include "control/own_files_win.h"

namespace weft::admin {
namespace {

absl::Status FromError(DWORD error) {
  const std::string text = std::system_category().message(static_cast<int>(error));
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
      return absl::NotFoundError(text);
    case ERROR_ACCESS_DENIED:
      return absl::PermissionDeniedError(text);
    case WAIT_TIMEOUT:
    case ERROR_SEM_TIMEOUT:
      return absl::DeadlineExceededError("no answer in time");
    default:
      return absl::UnavailableError(text);
  }
}

class PipeConnection : public LocalConnection {
 public:
  PipeConnection(HANDLE pipe, DWORD timeout)
      : pipe_(pipe),
        reading_(NewEvent()),
        writing_(NewEvent()),
        ended_(NewEvent()),
        timeout_(timeout) {}
  ~PipeConnection() override {
    for (const HANDLE each : {reading_, writing_, ended_, pipe_}) ::CloseHandle(each);
  }

  absl::Status Write(std::string_view bytes) override {
    while (!bytes.empty()) {
      OVERLAPPED overlapped = Begin(writing_);
      const bool done = ::WriteFile(pipe_, bytes.data(), static_cast<DWORD>(bytes.size()), nullptr,
                                    &overlapped) != 0;
      const absl::StatusOr<DWORD> sent = Finish(done, overlapped);
      if (!sent.ok()) return sent.status();
      if (*sent == 0) return absl::UnavailableError("the connection has ended");
      bytes.remove_prefix(*sent);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::size_t> Read(std::span<char> into) override {
    OVERLAPPED overlapped = Begin(reading_);
    const bool done =
        ::ReadFile(pipe_, into.data(), static_cast<DWORD>(into.size()), nullptr, &overlapped) != 0;
    return Finish(done, overlapped);
  }

  bool HasInput() override {
    DWORD size = 0;
    return ::PeekNamedPipe(pipe_, nullptr, 0, nullptr, &size, nullptr) == 0 || size != 0;
  }

  void Shutdown() override { ::SetEvent(ended_); }

 private:
  // Reset by hand.
  static HANDLE NewEvent() { return ::CreateEventW(nullptr, TRUE, FALSE, nullptr); }

  static OVERLAPPED Begin(HANDLE event) {
    OVERLAPPED overlapped{};
    overlapped.hEvent = event;
    return overlapped;
  }

  // Waits for the operation. On timeout or shutdown it cancels the operation and waits for its end,
  // because the operation uses the caller's buffer.
  absl::StatusOr<DWORD> Finish(bool done, OVERLAPPED& overlapped) {
    if (!done && ::GetLastError() != ERROR_IO_PENDING) return Ended(::GetLastError());
    const HANDLE events[] = {ended_, overlapped.hEvent};
    const DWORD event =
        done ? WAIT_OBJECT_0 + 1 : ::WaitForMultipleObjects(2, events, FALSE, timeout_);
    if (event != WAIT_OBJECT_0 + 1) ::CancelIoEx(pipe_, &overlapped);
    DWORD size = 0;
    const bool finished = ::GetOverlappedResult(pipe_, &overlapped, &size, TRUE) != 0;
    if (event == WAIT_OBJECT_0) return DWORD{0};
    if (finished) return size;
    return event == WAIT_TIMEOUT ? FromError(WAIT_TIMEOUT) : Ended(::GetLastError());
  }

  static absl::StatusOr<DWORD> Ended(DWORD error) {
    if (error == ERROR_BROKEN_PIPE || error == ERROR_HANDLE_EOF) return DWORD{0};
    return FromError(error);
  }

  HANDLE pipe_;
  HANDLE reading_, writing_;  // end of the operation
  HANDLE ended_;              // by Shutdown
  DWORD timeout_;
};

absl::StatusOr<std::unique_ptr<LocalConnection>> Connect(const std::string& path,
                                                         std::chrono::milliseconds timeout) {
  const std::wstring name = control::PathOf(path).wstring();
  const auto wait = timeout == timeout.zero() ? INFINITE : static_cast<DWORD>(timeout.count());
  for (;;) {
    // The server may identify us, but not impersonate us.
    const HANDLE pipe = ::CreateFileW(
        name.c_str(), GENERIC_READ | GENERIC_WRITE, 0, nullptr, OPEN_EXISTING,
        FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION, nullptr);
    if (pipe != INVALID_HANDLE_VALUE) {
      // Any process may create a pipe of this name first and send false answers.
      const std::string who = control::ForeignOwner(pipe);
      if (who.empty()) return std::make_unique<PipeConnection>(pipe, wait);
      ::CloseHandle(pipe);
      return absl::UnavailableError(absl::StrCat("the pipe ", who, " and is not flanneld's"));
    }
    if (::GetLastError() != ERROR_PIPE_BUSY || ::WaitNamedPipeW(name.c_str(), wait) == 0)
      return FromError(::GetLastError());
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalConnection>> ConnectLocal(const std::string& path,
                                                              std::chrono::milliseconds timeout) {
  auto connection = Connect(path, timeout);
  if (connection.ok() || path != DefaultEndpoint()) return connection;
  auto reserved = Connect(std::string(ReservedEndpoint()), timeout);
  return reserved.ok() ? std::move(reserved) : std::move(connection);
}

}  // namespace weft::admin
