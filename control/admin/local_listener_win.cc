// SPDX-License-Identifier: Apache-2.0
// A named pipe for its owner, Administrators and SYSTEM, one instance a connection.
// Asio requires winsock2.h first.
#include <winsock2.h>

#include <boost/asio/async_result.hpp>
#include <boost/asio/windows/overlapped_ptr.hpp>
#include <boost/asio/windows/stream_handle.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/admin/socket_stream.h"
#include "control/file_io.h"
#include "control/own_files_win.h"

namespace weft::admin {
namespace {

namespace asio = boost::asio;

constexpr DWORD kBuffer = 64 * 1024;  // bytes each way
constexpr char kPrefix[] = R"(\\.\pipe\)";

std::string Message(DWORD error) { return std::system_category().message(static_cast<int>(error)); }

class PipeListener : public Listener {
 public:
  PipeListener(asio::io_context& io, std::wstring name)
      : io_(io), name_(std::move(name)), next_(io) {}

  // Creates the instance that the next client will reach. `first`: fails when another process has
  // the name.
  DWORD MakeInstance(bool first) {
    HANDLE pipe = INVALID_HANDLE_VALUE;
    const DWORD made = control::WithOwnAttributes([&](SECURITY_ATTRIBUTES* attributes) -> DWORD {
      pipe = ::CreateNamedPipeW(
          name_.c_str(),
          PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED | (first ? FILE_FLAG_FIRST_PIPE_INSTANCE : 0),
          PIPE_TYPE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS, PIPE_UNLIMITED_INSTANCES,
          kBuffer, kBuffer, 0, attributes);
      return pipe == INVALID_HANDLE_VALUE ? ::GetLastError() : ERROR_SUCCESS;
    });
    if (made != ERROR_SUCCESS) return made;
    boost::system::error_code error;
    next_.assign(pipe, error);
    if (error) ::CloseHandle(pipe);
    return static_cast<DWORD>(error.value());
  }

  asio::awaitable<std::shared_ptr<ByteStream>> Accept() override {
    if (closed_ || (!next_.is_open() && MakeInstance(/*first=*/false) != ERROR_SUCCESS))
      co_return nullptr;
    auto [error, size] =
        co_await asio::async_initiate<const NoThrow, void(boost::system::error_code, std::size_t)>(
            [this](auto handler) { Connect(std::move(handler)); }, kNoThrow);
    if (error || closed_) {
      // For example, the client is gone already. The next instance is created before the last one
      // closes, so that the name stays ours.
      const asio::windows::stream_handle last =
          std::exchange(next_, asio::windows::stream_handle(io_));
      if (!closed_) MakeInstance(/*first=*/false);
      co_return nullptr;
    }
    auto stream = std::make_shared<AsioByteStream<asio::windows::stream_handle>>(std::move(next_));
    next_ = asio::windows::stream_handle(io_);
    // Before the caller serves this client: the next one must find the name.
    if (!closed_) MakeInstance(/*first=*/false);
    co_return stream;
  }

  void Close() override {
    closed_ = true;
    boost::system::error_code ignored;
    next_.close(ignored);
  }

 private:
  using NoThrow = asio::as_tuple_t<asio::use_awaitable_t<>>;
  static constexpr NoThrow kNoThrow = asio::as_tuple(asio::use_awaitable);

  void Connect(auto handler) {
    asio::windows::overlapped_ptr overlapped(io_.get_executor(), std::move(handler));
    const bool done = ::ConnectNamedPipe(next_.native_handle(), overlapped.get()) != 0;
    const DWORD error = done ? ERROR_SUCCESS : ::GetLastError();
    if (error == ERROR_IO_PENDING) {
      overlapped.release();
    } else {
      // ERROR_PIPE_CONNECTED: the client connected before this call.
      const DWORD outcome = error == ERROR_PIPE_CONNECTED ? ERROR_SUCCESS : error;
      overlapped.complete(
          boost::system::error_code(static_cast<int>(outcome), asio::error::get_system_category()),
          0);
    }
  }

  asio::io_context& io_;
  std::wstring name_;
  asio::windows::stream_handle next_;
  bool closed_ = false;
};

absl::Status Taken(const std::string& path) {
  return absl::AlreadyExistsError(
      absl::StrCat("another program holds ", path,
                   ", probably a flanneld: stop it, or give this one its own "
                   "--admin, --subnet-file and --state-dir"));
}

// Whether a pipe of that name exists, without connecting to it. FIRST_PIPE_INSTANCE refuses the
// second server without a race, but Wine 8 ignores it.
bool IsServed(const std::wstring& name) {
  return ::WaitNamedPipeW(name.c_str(), 1) != 0 || ::GetLastError() == ERROR_SEM_TIMEOUT;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Listener>> OpenLocalListener(asio::io_context& io,
                                                            const std::string& path) {
  if (!absl::StartsWithIgnoreCase(path, kPrefix)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", path, "\" is not a pipe's name; it must begin with ", kPrefix));
  }
  const std::wstring name = control::PathOf(path).wstring();
  if (IsServed(name)) return Taken(path);
  auto listener = std::make_shared<PipeListener>(io, name);
  switch (const DWORD error = listener->MakeInstance(/*first=*/true)) {
    case ERROR_SUCCESS:
      return listener;
    case ERROR_ACCESS_DENIED:
    case ERROR_PIPE_BUSY:
      return Taken(path);
    default:
      return absl::UnavailableError(
          absl::StrCat("cannot create pipe ", path, ": ", Message(error), "; choose another name"));
  }
}

bool ReuseAddressIsSafe() { return false; }

}  // namespace weft::admin
