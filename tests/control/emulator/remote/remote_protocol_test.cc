// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/remote_protocol.h"

#include "gmock/gmock.h"

namespace weft::hns::emulator {
namespace {

using ::testing::HasSubstr;

Request Whole() {
  Request request;
  request.operation = RequestKind::kCreate;
  request.kind = Kind::kLoadBalancer;
  request.handle = static_cast<Handle>(0xffff'ffff'ffff'fffeull);
  request.id = *Guid::Parse("55fedb88-4b11-4da4-8cd1-59970718a804");
  request.text = R"({"Name":"a \"quoted\" name, ä"})";
  request.method = "POST";
  request.path = "/networks/";
  return request;
}

TEST(RemoteProtocolTest, ARequestComesBack) {
  EXPECT_EQ(ParseRequest(Encode(Whole())).value(), Whole());
  EXPECT_EQ(ParseRequest(Encode(Request())).value(), Request());
  for (int operation = 0; operation <= static_cast<int>(RequestKind::kControl); ++operation) {
    Request request;
    request.operation = static_cast<RequestKind>(operation);
    EXPECT_EQ(ParseRequest(Encode(request)).value(), request);
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
  Request request;
  request.text = "\xed\xa0\x80";
  EXPECT_THAT(ParseRequest(Encode(request))->text, HasSubstr("\xef\xbf\xbd"));
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
    return absl::OkStatus();
  }
  absl::StatusOr<std::size_t> Read(std::span<char>) override { return 0; }
  bool HasInput() override { return false; }
  void Shutdown() override {}

  int writes = 0;
};

TEST(DocumentsTest, ATooLongDocumentIsNotSent) {
  CountingStream stream;
  EXPECT_FALSE(WriteDocument(stream, std::string(kMostBytes + 1, 'x')));
  EXPECT_EQ(stream.writes, 0);
  EXPECT_TRUE(WriteDocument(stream, "{}"));
}

}  // namespace
}  // namespace weft::hns::emulator
