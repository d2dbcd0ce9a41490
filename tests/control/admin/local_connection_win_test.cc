// SPDX-License-Identifier: Apache-2.0
// The owner of the pipe: any user of the machine may create one with flanneld's name first.
#include <winsock2.h>

#include <windows.h>

#include <sddl.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "control/admin/admin_server.h"
#include "control/admin/endpoint.h"
#include "control/admin/http_server.h"
#include "control/admin/local_connection.h"
#include "gmock/gmock.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"

namespace weft::admin {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

// A pipe of another user's.
class ForeignPipe {
 public:
  explicit ForeignPipe(const std::string& path) {
    PSECURITY_DESCRIPTOR descriptor = nullptr;
    EXPECT_TRUE(::ConvertStringSecurityDescriptorToSecurityDescriptorW(
        L"O:S-1-5-21-1-2-3-1001G:BUD:(A;;GA;;;WD)", SDDL_REVISION_1, &descriptor, nullptr));
    SECURITY_ATTRIBUTES attributes{sizeof attributes, descriptor, FALSE};
    pipe_ = ::CreateNamedPipeA(path.c_str(), PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED,
                               PIPE_TYPE_BYTE | PIPE_WAIT, PIPE_UNLIMITED_INSTANCES, 4096, 4096, 0,
                               &attributes);
    EXPECT_NE(pipe_, INVALID_HANDLE_VALUE) << ::GetLastError();
    ::LocalFree(descriptor);
  }
  ~ForeignPipe() { ::CloseHandle(pipe_); }
  ForeignPipe(const ForeignPipe&) = delete;
  ForeignPipe& operator=(const ForeignPipe&) = delete;

 private:
  HANDLE pipe_;
};

std::string PathOfThis(const char* name) {
  return R"(\\.\pipe\weft-test-)" + std::to_string(::GetCurrentProcessId()) + name;
}

TEST(LocalConnectionWindowsTest, AnotherUsersPipeIsNotFlanneld) {
  const std::string path = PathOfThis("foreign");
  EXPECT_EQ(ForeignHolder(path), "") << "no other user does";
  const ForeignPipe pipe(path);
  const auto connection = ConnectLocal(path, 1s);
  EXPECT_TRUE(absl::IsUnavailable(connection.status())) << connection.status();
  EXPECT_EQ(connection.status().message(),
            "the pipe belongs to S-1-5-21-1-2-3-1001 and is not flanneld's");
}

TEST(LocalConnectionWindowsTest, TheOwnerOfAPipeIsNamed) {
  const std::string path = PathOfThis("held");
  const ForeignPipe pipe(path);
  EXPECT_EQ(ForeignHolder(path), "belongs to S-1-5-21-1-2-3-1001");
  boost::asio::io_context io;
  HttpServer server(io, [](const Request&) { return Response(); });
  const std::string own = PathOfThis("own");
  ASSERT_TRUE(server.ListenLocal(own).ok());
  EXPECT_EQ(ForeignHolder(own), "");
}

TEST(LocalConnectionWindowsTest, ATakenDefaultPipeIsReplacedByAProtectedOne) {
  boost::asio::io_context io;
  FakeState state;
  AdminServer server(io, state);
  {
    const ForeignPipe pipe{std::string(DefaultEndpoint())};
    const absl::Status status = server.Listen(std::string(DefaultEndpoint()));
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_THAT(server.note(),
                AllOf(StartsWith(R"(the pipe \\.\pipe\weft belongs to S-1-5-21-1-2-3-1001)"),
                      HasSubstr(std::string(ReservedEndpoint()))));
  }
  {
    const ForeignPipe pipe{std::string(DefaultEndpoint())};
    EXPECT_TRUE(ConnectLocal(std::string(DefaultEndpoint()), 1s).ok()) << "a client finds it";
  }
}

// Its one instance is taken, perhaps by its owner.
TEST(LocalConnectionWindowsTest, ABusyDefaultIsReplacedToo) {
  const std::string path(DefaultEndpoint());
  const HANDLE pipe =
      ::CreateNamedPipeA(path.c_str(), PIPE_ACCESS_DUPLEX | FILE_FLAG_OVERLAPPED,
                         PIPE_TYPE_BYTE | PIPE_WAIT, /*nMaxInstances=*/1, 4096, 4096, 0, nullptr);
  ASSERT_NE(pipe, INVALID_HANDLE_VALUE) << ::GetLastError();
  const HANDLE client = ::CreateFileA(path.c_str(), GENERIC_READ | GENERIC_WRITE, 0, nullptr,
                                      OPEN_EXISTING, FILE_FLAG_OVERLAPPED, nullptr);
  ASSERT_NE(client, INVALID_HANDLE_VALUE) << ::GetLastError();
  EXPECT_EQ(ForeignHolder(path), "is held by a program that serves no client");
  boost::asio::io_context io;
  FakeState state;
  AdminServer server(io, state);
  const absl::Status status = server.Listen(path);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(server.note(), HasSubstr("serves no client"));
  ::CloseHandle(client);
  ::CloseHandle(pipe);
}

// By a flanneld that runs already, for one.
TEST(LocalConnectionWindowsTest, ADefaultThatThisUserHoldsIsNotReplaced) {
  const std::string path(DefaultEndpoint());
  boost::asio::io_context io;
  HttpServer first(io, [](const Request&) { return Response(); });
  ASSERT_TRUE(first.ListenLocal(path).ok());
  FakeState state;
  AdminServer second(io, state);
  EXPECT_TRUE(absl::IsAlreadyExists(second.Listen(path)));
  EXPECT_EQ(second.note(), "");
}

TEST(LocalConnectionWindowsTest, AnyOtherTakenPipeIsRefused) {
  const std::string path = PathOfThis("other");
  const ForeignPipe pipe(path);
  boost::asio::io_context io;
  FakeState state;
  AdminServer server(io, state);
  EXPECT_TRUE(absl::IsAlreadyExists(server.Listen(path)));
  EXPECT_EQ(server.note(), "");
}

}  // namespace
}  // namespace weft::admin
