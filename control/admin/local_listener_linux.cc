// SPDX-License-Identifier: Apache-2.0
// A Unix-domain socket that only its owner can reach, from the moment its file exists.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "control/admin/socket_stream.h"
#include "control/admin/unix_address_linux.h"

namespace weft::admin {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// errno's message under the code that suits it.
absl::Status SystemError(const std::string& what, std::string_view next_step) {
  const int error = errno;
  return absl::Status(absl::ErrnoToStatusCode(error),
                      absl::StrCat(what, ": ", std::strerror(error), "; ", next_step));
}

// Another user who can write to the folder could replace our socket.
absl::Status CheckFolder(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return SystemError(absl::StrCat("cannot create folder ", folder.native()),
                       "create it, or choose another path");
  }
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0)
    return SystemError(absl::StrCat("cannot inspect ", folder.native()), "check its permissions");
  if (!S_ISDIR(info.st_mode))
    return absl::FailedPreconditionError(absl::StrCat(folder.native(), " is not a folder"));
  const bool foreign = info.st_uid != 0 && info.st_uid != ::geteuid();
  const bool open = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (info.st_mode & S_ISVTX) == 0;
  if (!foreign && !open) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("folder ", folder.native(),
                   foreign ? " belongs to another user" : " is writable by other users",
                   ", who could replace the socket in it; chown root and chmod go-w it, or "
                   "choose another folder"));
}

// Removes the socket file of a process that has ended.
absl::Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT
               ? absl::OkStatus()
               : SystemError(absl::StrCat("cannot inspect ", path), "check its permissions");
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " exists and is not a socket; move it away, or choose another path"));
  }
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (probe.get() < 0) return SystemError("cannot open a socket", "check the limit on open files");
  // EAGAIN: a server listens, but its queue is full.
  if (::connect(probe.get(), Generic(address), sizeof address) == 0 || errno == EAGAIN) {
    return absl::AlreadyExistsError(
        absl::StrCat("another program answers on ", path,
                     ", probably a flanneld: stop it, or give this one its own --admin, "
                     "--subnet-file and --state-dir"));
  }
  if (errno != ECONNREFUSED)
    return SystemError(absl::StrCat("cannot determine whether a program answers on ", path),
                       "remove it if none does");
  if (::unlink(path.c_str()) != 0)
    return SystemError(absl::StrCat("cannot remove the stale socket ", path), "remove it");
  return absl::OkStatus();
}

// Removes the socket's file at the end, unless another file has replaced it.
class UnixListener : public SocketListener {
 public:
  UnixListener(Acceptor acceptor, std::string path, const struct stat& file)
      : SocketListener(std::move(acceptor), 0),
        path_(std::move(path)),
        device_(file.st_dev),
        inode_(file.st_ino) {}
  ~UnixListener() override { Remove(); }
  void Close() override {
    Remove();
    SocketListener::Close();
  }

 private:
  void Remove() {
    struct stat now {};
    if (::lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_)
      ::unlink(path_.c_str());
    path_.clear();  // a second call then finds no file
  }

  std::string path_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<Listener>> OpenLocalListener(boost::asio::io_context& io,
                                                            const std::string& path) {
  const absl::StatusOr<sockaddr_un> address = UnixAddress(path);
  if (!address.ok()) return address.status();
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (absl::Status status = CheckFolder(folder.empty() ? "." : folder); !status.ok()) return status;
  if (absl::Status status = RemoveStale(path, *address); !status.ok()) return status;

  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // On Linux the new file's mode is the descriptor's, less the umask: other users can never
  // connect.
  if (fd.get() < 0 || ::fchmod(fd.get(), 0600) != 0)
    return SystemError("cannot open a socket", "check the limit on open files");
  if (::bind(fd.get(), Generic(*address), sizeof *address) != 0)
    return SystemError(absl::StrCat("cannot bind ", path), "choose another path");
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0)
    return SystemError(absl::StrCat("cannot inspect ", path), "choose another path");
  if (::listen(fd.get(), SOMAXCONN) != 0)
    return SystemError(absl::StrCat("cannot listen on ", path), "choose another path");

  SocketListener::Acceptor acceptor(io);
  boost::system::error_code error;
  acceptor.assign(boost::asio::generic::stream_protocol(AF_UNIX, 0), fd.get(), error);
  if (error)
    return absl::InternalError(absl::StrCat("cannot wait on ", path, ": ", error.message()));
  fd.release();
  return std::make_shared<UnixListener>(std::move(acceptor), path, file);
}

bool ReuseAddressIsSafe() { return true; }

}  // namespace weft::admin
