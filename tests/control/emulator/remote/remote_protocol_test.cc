// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/remote_protocol.h"

#include "gmock/gmock.h"

namespace weft::hns::emulator {
namespace {

using ::testing::HasSubstr;

// Every member that is sent.
const Request kWhole = {RequestKind::kApi,
                        {.operation = Operation::kCreate,
                         .kind = Kind::kLoadBalancer,
                         .handle = static_cast<Handle>(0xffff'ffff'ffff'fffeull),
                         .id = *Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804"),
                         .text = R"({"Name":"a \"quoted\" name, ä"})",
                         .method = "POST",
                         .path = "/networks/"}};

void ExpectEqual(const Request& read, const Request& sent) {
  EXPECT_EQ(read.kind, sent.kind);
  EXPECT_EQ(read.call.operation, sent.call.operation);
  EXPECT_EQ(read.call.kind, sent.call.kind);
  EXPECT_EQ(read.call.handle, sent.call.handle);
  EXPECT_EQ(read.call.id, sent.call.id);
  EXPECT_EQ(read.call.text, sent.call.text);
  EXPECT_EQ(read.call.method, sent.call.method);
  EXPECT_EQ(read.call.path, sent.call.path);
}

TEST(RemoteProtocolTest, ARequestComesBack) {
  ExpectEqual(ParseRequest(Encode(kWhole)).value(), kWhole);
  ExpectEqual(ParseRequest(Encode(Request())).value(), Request());
  for (int kind = 0; kind <= static_cast<int>(RequestKind::kWatchHost); ++kind) {
    const Request request{static_cast<RequestKind>(kind), {.operation = Operation{}}};
    EXPECT_EQ(ParseRequest(Encode(request))->kind, request.kind);
  }
  for (int operation = 0; operation <= static_cast<int>(Operation::kUnsubscribe); ++operation) {
    const Request request{RequestKind::kApi, {.operation = static_cast<Operation>(operation)}};
    ExpectEqual(ParseRequest(Encode(request)).value(), request);
  }
}

TEST(RemoteProtocolTest, AReplyComesBack) {
  Reply reply;
  reply.code = hresult::kNetworkAlreadyExists;
  reply.text = "[]";
  reply.error_record = R"({"Success":false})";
  reply.handle = static_cast<Handle>(7);
  const auto answer = ParseAnswer(Encode(reply));
  const Reply& back = std::get<Reply>(*answer);
  EXPECT_EQ(back.code, reply.code);
  EXPECT_EQ(back.text, reply.text);
  EXPECT_EQ(back.error_record, reply.error_record);
  EXPECT_EQ(back.handle, reply.handle);
}

TEST(RemoteProtocolTest, ANotificationComesBack) {
  const auto answer = ParseAnswer(Encode(Notice{Notification::kServiceDisconnect, "{}"}));
  EXPECT_EQ(std::get<Notice>(*answer).type, Notification::kServiceDisconnect);
  EXPECT_EQ(std::get<Notice>(*answer).data, "{}");
}

// A Windows program may pass half a surrogate pair; the server must still receive valid JSON.
TEST(RemoteProtocolTest, InvalidUtf8IsReplaced) {
  const Request request{RequestKind::kControl, {.text = "\xed\xa0\x80"}};
  EXPECT_THAT(ParseRequest(Encode(request))->call.text, HasSubstr("\xef\xbf\xbd"));
}

TEST(RemoteProtocolTest, NonsenseIsRefused) {
  for (const char* document :
       {"", "[]", "{}", R"({"op":"dance","kind":"network"})", R"({"op":"open","kind":"table"})",
        R"({"op":"open","kind":"network","handle":-1})",
        R"({"op":"open","kind":"network","id":"{55fedb88}"})"}) {
    EXPECT_FALSE(ParseRequest(document).ok()) << document;
  }
  for (const char* document : {"", "[]", "{}", R"({"code":4294967296})", R"({"code":"0"})",
                               R"({"code":0,"handle":-1})", R"({"notification":"x"})"}) {
    EXPECT_FALSE(ParseAnswer(document).ok()) << document;
  }
  EXPECT_THAT(ParseRequest("{}").status().message(), HasSubstr("one version of weft"));
}

TEST(RemoteProtocolTest, AFrameHasItsLength) {
  const std::string frame = Frame(std::string(0x010203, 'x'));
  EXPECT_EQ(frame.substr(0, kLengthSize), std::string("\0\1\2\3", 4));
  EXPECT_EQ(frame.size(), kLengthSize + 0x010203);
  EXPECT_EQ(ParseLength({0, 1, 2, 3}).value(), 0x010203u);
  EXPECT_EQ(ParseLength({4, 0, 0, 0}).value(), kMostBytes);
  EXPECT_FALSE(ParseLength({4, 0, 0, 1}).ok());
  EXPECT_FALSE(ParseLength({'G', 'E', 'T', ' '}).ok());
}

class CountingStream final : public Stream {
 public:
  absl::Status Write(std::string_view) override {
    ++writes;
    return fault;
  }
  absl::StatusOr<std::size_t> Read(std::span<char>) override {
    if (!fault.ok()) return fault;
    return 0;
  }
  bool HasInput() override { return false; }
  void Shutdown() override {}

  int writes = 0;
  absl::Status fault;
};

TEST(DocumentsTest, ATooLongDocumentIsNotSent) {
  CountingStream stream;
  EXPECT_FALSE(WriteDocument(stream, std::string(kMostBytes + 1, 'x')));
  EXPECT_EQ(stream.writes, 0);
  EXPECT_TRUE(WriteDocument(stream, "{}"));
}

TEST(DocumentsTest, ABrokenConnectionHasEnded) {
  CountingStream stream;
  stream.fault = absl::UnavailableError("connection reset by peer");
  EXPECT_FALSE(WriteDocument(stream, "{}"));
  EXPECT_EQ(ReadDocument(stream).status(),
            absl::UnavailableError("the connection to the HNS emulator has ended"));
}

}  // namespace
}  // namespace weft::hns::emulator
