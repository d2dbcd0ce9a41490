// SPDX-License-Identifier: Apache-2.0
#include "control/admin/http_codec.h"

#include "gmock/gmock.h"

namespace weft::admin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr std::size_t kLimit = 1024;

TEST(RequestReaderTest, ReadsARequest) {
  RequestReader reader(kLimit);
  ASSERT_EQ(reader.Take("GET /v1/leases?after=7&wait=30 HTTP/1.1\r\nHost: x\r\n\r\n"),
            Reading::kDone);
  EXPECT_EQ(reader.request().method, "GET");
  EXPECT_EQ(reader.request().path, "/v1/leases");
  EXPECT_THAT(reader.request().query, ElementsAre(Pair("after", "7"), Pair("wait", "30")));
  EXPECT_FALSE(reader.request().held);
}

TEST(RequestReaderTest, ReadsARequestInPiecesOfAnySize) {
  const std::string text =
      "HEAD /healthz HTTP/1.1\r\nHost: x\r\nUser-Agent: kube-probe/1.31\r\n\r\n";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    RequestReader reader(kLimit);
    Reading reading = Reading::kMore;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      ASSERT_EQ(reading, Reading::kMore);
      reading = reader.Take(std::string_view(text).substr(at, piece));
    }
    EXPECT_EQ(reading, Reading::kDone) << "pieces of " << piece;
    EXPECT_EQ(reader.request().path, "/healthz");
    EXPECT_TRUE(reader.request().query.empty());
    EXPECT_EQ(reader.request().method, "HEAD");
  }
}

struct Target {
  const char* text;
  int status;  // 200: accepted
  const char* path;
};

TEST(RequestReaderTest, Targets) {
  const Target rows[] = {
      {"/", 200, "/"},         {"/a%20b", 200, "/a b"},
      {"/a+b", 200, "/a+b"},   {"/%2e%2E/x", 200, "/../x"},
      {"/?", 200, "/"},        {"/?a=%zz", 400, ""},
      {"/%", 400, ""},         {"/%4", 400, ""},
      {"/%00", 400, ""},       {"*", 400, ""},
      {"http://x/y", 400, ""}, {"?a=1", 400, ""},
  };
  for (const Target& row : rows) {
    SCOPED_TRACE(row.text);
    RequestReader reader(kLimit);
    const Reading reading =
        reader.Take(std::string("GET ") + row.text + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(reading, row.status == 200 ? Reading::kDone : Reading::kRefused);
    if (row.status == 200) {
      EXPECT_EQ(reader.request().path, row.path);
    } else {
      EXPECT_EQ(reader.refusal().status, row.status);
    }
  }
}

TEST(RequestReaderTest, QueryNamesAndValuesAreDecoded) {
  RequestReader reader(kLimit);
  ASSERT_EQ(reader.Take("GET /x?a=1&a=2&b%3d=c+d&&e&=f HTTP/1.0\r\n\r\n"), Reading::kDone);
  EXPECT_THAT(reader.request().query,
              ElementsAre(Pair("", "f"), Pair("a", "2"), Pair("b=", "c d"), Pair("e", "")));
}

struct Refusal {
  const char* why;
  std::string text;
  int status;
};

TEST(RequestReaderTest, APostIsAcceptedWhereAllowed) {
  RequestReader reader(kLimit, /*post=*/true);
  EXPECT_EQ(reader.Take(WriteRequest("/v1/repair?ask=1", "POST")), Reading::kDone);
  EXPECT_EQ(reader.request().method, "POST");
  EXPECT_EQ(reader.request().path, "/v1/repair");
  RequestReader with_body(kLimit, /*post=*/true);
  EXPECT_EQ(with_body.Take("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n"),
            Reading::kRefused);
  EXPECT_EQ(with_body.refusal().status, 413);
  RequestReader other(kLimit, /*post=*/true);
  EXPECT_EQ(other.Take("DELETE / HTTP/1.1\r\nHost: x\r\n\r\n"), Reading::kRefused);
  EXPECT_EQ(other.refusal().status, 405);
}

TEST(RequestReaderTest, Refuses) {
  const Refusal rows[] = {
      {"garbage", "\x16\x03\x01\x02\x00\x01\r\n\r\n", 400},
      {"no method", " / HTTP/1.1\r\n\r\n", 400},
      {"a space in a field name", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400},
      {"no Host in HTTP/1.1", "GET / HTTP/1.1\r\n\r\n", 400},
      {"POST", "POST / HTTP/1.1\r\nHost: x\r\n\r\n", 405},
      {"DELETE", "DELETE / HTTP/1.1\r\nHost: x\r\n\r\n", 405},
      {"an unknown method", "BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 405},
      {"a body", "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", 413},
      {"a body longer than the limit",
       "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n" + std::string(9999, 'a'), 413},
      {"a chunked body", "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 413},
      {"an endless body", "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", 413},
      {"two lengths", "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n",
       400},
      {"a nameless field", "GET / HTTP/1.1\r\n: x\r\n\r\n", 400},
      {"a broken name in the query", "GET /?%zz=1 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"a NUL in the query", "GET /?a=%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"HTTP/2", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
      {"a long line", "GET /" + std::string(kLimit, 'a'), 431},
      {"long fields", "GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(kLimit, 'a'), 431},
  };
  for (const Refusal& row : rows) {
    SCOPED_TRACE(row.why);
    RequestReader reader(kLimit);
    EXPECT_EQ(reader.Take(row.text), Reading::kRefused);
    EXPECT_EQ(reader.refusal().status, row.status);
    EXPECT_THAT(reader.refusal().body, ::testing::EndsWith("\n"));
  }
}

TEST(RequestReaderTest, TheLimitIsExactHoweverTheBytesAreCut) {
  const std::string begin = "GET / HTTP/1.1\r\nHost: x\r\nX: ";
  const std::string end = "\r\n\r\n";
  for (const std::size_t excess : {0u, 1u}) {
    const std::string text =
        begin + std::string(kLimit - begin.size() - end.size() + excess, 'a') + end;
    for (const std::size_t piece : {std::size_t{1}, std::size_t{100}, text.size()}) {
      RequestReader reader(kLimit);
      Reading reading = Reading::kMore;
      for (std::size_t at = 0; at < text.size() && reading == Reading::kMore; at += piece) {
        reading = reader.Take(std::string_view(text).substr(at, piece));
      }
      EXPECT_EQ(reading, excess == 0 ? Reading::kDone : Reading::kRefused) << piece;
    }
  }
}

TEST(RequestReaderTest, AnEmptyLengthIsNoBody) {
  RequestReader reader(kLimit);
  EXPECT_EQ(reader.Take("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"), Reading::kDone);
}

TEST(WriteResponseTest, HasLengthTypeAndClose) {
  EXPECT_EQ(WriteResponse({.status = 404, .content_type = "text/x", .body = "no\n"}, false),
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/x\r\nContent-Length: 3\r\n"
            "Connection: close\r\n\r\nno\n");
}

TEST(WriteResponseTest, HeadKeepsTheLengthAndLeavesTheBodyOut) {
  const std::string text = WriteResponse({.body = "four"}, true);
  EXPECT_THAT(text, HasSubstr("Content-Length: 4\r\n"));
  EXPECT_THAT(text, ::testing::EndsWith("\r\n\r\n"));
}

TEST(WriteResponseTest, ARefusedMethodNamesTheAllowedOnes) {
  EXPECT_THAT(WriteResponse({.status = 405, .body = ""}, false), HasSubstr("Allow: GET, HEAD\r\n"));
}

TEST(ResponseReaderTest, ReadsWhatWriteResponseWroteInPiecesOfAnySize) {
  const Response response{
      .status = 503, .content_type = "application/json", .body = "{\"a\": 1}\n"};
  const std::string text = WriteResponse(response, false);
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    ResponseReader reader;
    Reading reading = Reading::kMore;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      ASSERT_EQ(reading, Reading::kMore);
      reading = reader.Take(std::string_view(text).substr(at, piece));
    }
    ASSERT_EQ(reading, Reading::kDone) << "pieces of " << piece;
    const Response back = reader.TakeResponse();
    EXPECT_EQ(back.status, 503);
    EXPECT_EQ(back.content_type, "application/json");
    EXPECT_EQ(back.body, response.body);
  }
}

TEST(ResponseReaderTest, AnEndBeforeTheEndIsRefused) {
  const std::string text = WriteResponse({.body = "body"}, false);
  for (std::size_t size = 0; size < text.size(); ++size) {
    ResponseReader reader;
    if (size > 0) ASSERT_EQ(reader.Take(text.substr(0, size)), Reading::kMore);
    EXPECT_EQ(reader.End(), Reading::kRefused) << "after " << size;
  }
}

TEST(ResponseReaderTest, NonHttpIsRefused) {
  ResponseReader reader;
  EXPECT_EQ(reader.Take("SSH-2.0-OpenSSH_9.2\r\n"), Reading::kRefused);
}

TEST(ResponseReaderTest, BytesAfterTheEndAreNotPartOfTheResponse) {
  ResponseReader reader;
  EXPECT_EQ(reader.Take("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500"),
            Reading::kDone);
  EXPECT_EQ(reader.TakeResponse().body, "ok");
}

// 100,000 leases are some 60 MB; a length of terabytes is refused.
TEST(ResponseReaderTest, ABodyHasALimit) {
  const auto take = [](std::uint64_t length) {
    ResponseReader reader;
    return reader.Take("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n");
  };
  EXPECT_EQ(take(std::uint64_t{1} << 30), Reading::kMore);
  EXPECT_EQ(take((std::uint64_t{1} << 30) + 1), Reading::kRefused);
}

TEST(WriteRequestTest, OnlyAPostHasALength) {
  EXPECT_EQ(WriteRequest("/x"), "GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(WriteRequest("/x", "POST"),
            "POST /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            "Content-Length: 0\r\n\r\n");
}

TEST(WriteRequestTest, IsReadBack) {
  RequestReader reader(kLimit);
  ASSERT_EQ(reader.Take(WriteRequest("/v1/status")), Reading::kDone);
  EXPECT_EQ(reader.request().path, "/v1/status");
}

}  // namespace
}  // namespace weft::admin
