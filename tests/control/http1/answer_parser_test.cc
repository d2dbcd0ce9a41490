// SPDX-License-Identifier: Apache-2.0
#include "control/http1/answer_parser.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::http1 {
namespace {

using ::testing::HasSubstr;

struct Read : AnswerSink {
  bool OnHead(const HttpHead& told) override {
    ++heads;
    head = told;
    return accept_head;
  }
  bool OnBody(std::string_view bytes) override {
    EXPECT_NE(bytes, "");
    body += bytes;
    return accept_body;
  }
  HttpHead head;
  std::string body;
  int heads = 0;
  bool accept_head = true, accept_body = true;
  bool done = false;
  std::string error;
};

// `text` in pieces, then the end of the connection.
Read ReadAnswer(std::string_view text, std::size_t piece, Read read = {}) {
  AnswerParser parser(AnswerParser::To::kRequest, read);
  std::string held;
  while (!text.empty() && !parser.done()) {
    held += text.substr(0, piece);
    text.remove_prefix(std::min(piece, text.size()));
    const auto taken = parser.Take(held);
    if (!taken.ok()) {
      read.error = std::string(taken.status().message());
      return read;
    }
    held.erase(0, *taken);
  }
  if (!parser.done()) {
    const absl::Status end = parser.End();
    if (!end.ok()) read.error = std::string(end.message());
  }
  read.done = true;
  return read;
}

TEST(AnswerParserTest, Read) {
  struct Row {
    const char* description;
    const char* text;
    int status;
    const char* body;
  };
  for (const Row& row : {
           Row{"by length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, "abc"},
           Row{"what comes after it", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", 200,
               "abc"},
           Row{"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, ""},
           Row{"chunks",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
               "3\r\nabc\r\n1;x=y\r\nd\r\n0\r\n\r\n",
               200, "abcd"},
           Row{"chunks with a trailer",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
               "A\r\n0123456789\r\n0\r\nContent-Type: x\r\nY: z\r\n\r\n",
               200, "0123456789"},
           Row{"a chunk's size with blanks after it",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
               "3 \r\nabc\r\n1\t;x\r\nd\r\n0\r\n\r\n",
               200, "abcd"},
           Row{"what comes after the chunks",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nxyz", 200,
               "a"},
           Row{"unencoded",
               "HTTP/1.1 200 OK\r\nContent-Encoding: Identity\r\nContent-Length: 1\r\n\r\na", 200,
               "a"},
           Row{"to the end of the connection", "HTTP/1.1 200 OK\r\n\r\nabc", 200, "abc"},
           Row{"nothing to the end", "HTTP/1.0 200 OK\r\n\r\n", 200, ""},
           Row{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""},
           Row{"no content, with any length",
               "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", 204, ""},
           Row{"what comes after no content", "HTTP/1.1 204 No Content\r\n\r\nxyz", 204, ""},
           Row{"not modified, with any length",
               "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, ""},
           Row{"interim answers",
               "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
               "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na",
               200, "a"},
           Row{"no reason", "HTTP/1.1 410 \r\nContent-Length: 1\r\n\r\na", 410, "a"},
       }) {
    SCOPED_TRACE(row.description);
    for (const std::size_t piece : {1, 2, 3, 7, 1000}) {
      const Read read = ReadAnswer(row.text, piece);
      EXPECT_EQ(read.error, "");
      EXPECT_EQ(read.heads, 1);
      EXPECT_EQ(read.head.status, row.status);
      EXPECT_EQ(read.head.content_type, "");
      EXPECT_EQ(read.body, row.body);
    }
  }
}

TEST(AnswerParserTest, Fields) {
  const HttpHead head = ReadAnswer(
                            "HTTP/1.1 429 Too Many\r\nretry-after: 7\r\n"
                            "Content-Type: application/json;stream=watch\r\n\r\n",
                            100)
                            .head;
  EXPECT_EQ(head.content_type, "application/json;stream=watch");
  EXPECT_EQ(head.retry_after, std::chrono::seconds(7));
  for (const char* other : {"Fri, 31 Dec 1999 23:59:59 GMT", "-1", "1.5", "", "99999999999"}) {
    EXPECT_EQ(ReadAnswer(std::string("HTTP/1.1 503 x\r\nRetry-After: ") + other + "\r\n\r\n", 100)
                  .head.retry_after,
              std::nullopt)
        << other;
  }
  EXPECT_EQ(ReadAnswer("HTTP/1.1 503 x\r\nRetry-After: 4000000000\r\n\r\n", 100).head.retry_after,
            std::chrono::hours(24));
}

TEST(AnswerParserTest, Refused) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  struct Row {
    const char* description;
    std::string text;
    const char* reason;
  };
  for (const Row& row : {
           Row{"nothing", "", "without an answer"},
           Row{"half a head", "HTTP/1.1 200 OK\r\nContent-", "without an answer"},
           Row{"only an interim answer", "HTTP/1.1 100 Continue\r\n\r\n", "without an answer"},
           Row{"TLS", "\x15\x03\x01\x00\x02\x02\x16", "is not HTTP/1.1"},
           Row{"another protocol", "SSH-2.0-OpenSSH_9.2\r\n",
               "is not HTTP/1.1: it begins with \"S"},
           Row{"HTTP/2", "HTTP/2.0 200 OK\r\n\r\n", "is not HTTP/1.1"},
           Row{"status 000", "HTTP/1.1 000 x\r\n\r\n", "its status is 0"},
           Row{"switching", "HTTP/1.1 101 x\r\n\r\n", "its status is 101"},
           Row{"short of its length", head + "Content-Length: 4\r\n\r\nabc",
               "before the end of its answer"},
           Row{"a chunk cut", chunked + "4\r\nabc", "before the end of its answer"},
           Row{"no last chunk", chunked + "3\r\nabc\r\n", "before the end of its answer"},
           Row{"a trailer cut", chunked + "0\r\nX: y\r\n", "before the end of its answer"},
           Row{"no chunk", chunked + "xyz\r\n", "is not HTTP/1.1"},
           Row{"a chunk without size", chunked + "\r\nabc", "is not HTTP/1.1"},
           Row{"a chunk of 2^60", chunked + "1000000000000000\r\n", "is not HTTP/1.1"},
           Row{"lines without CR", chunked + "1\na\n0\n\n", "is not HTTP/1.1"},
           Row{"a chunk longer than its size", chunked + "1\r\nabc\r\n", "is not HTTP/1.1"},
           Row{"gzip", head + "Content-Encoding: gzip\r\n\r\n", "its content encoding is \"gzip\""},
           Row{"another coding", head + "Transfer-Encoding: gzip, chunked\r\n\r\n",
               "its transfer encoding is \"gzip, chunked\""},
           Row{"two lengths", head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
               "is not HTTP/1.1"},
           Row{"length and chunks",
               head + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "is not HTTP/1.1"},
       }) {
    SCOPED_TRACE(row.description);
    for (const std::size_t piece : {1, 3, 1000})
      EXPECT_THAT(ReadAnswer(row.text, piece).error, HasSubstr(row.reason)) << piece;
  }
}

TEST(AnswerParserTest, ALineHasAnEnd) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const std::string x(AnswerParser::kHeadLimit, 'x');
  for (const std::size_t piece : {1'000, 16'384}) {
    EXPECT_THAT(ReadAnswer(x, piece).error, HasSubstr("HTTP"));
    EXPECT_THAT(ReadAnswer(head + "A: " + x, piece).error, HasSubstr("its head is longer than 64"));
    std::string many = head;
    while (many.size() < 2 * x.size()) many += "Set-Cookie: 0123456789\r\n";
    EXPECT_THAT(ReadAnswer(many, piece).error, HasSubstr("its head is longer than 64 KiB"));
    for (const char* begin : {"1;", "0\r\nX:", "0\r\n"}) {
      EXPECT_THAT(ReadAnswer(head + "Transfer-Encoding: chunked\r\n\r\n" + begin + x, piece).error,
                  HasSubstr("a chunk's line or the trailer is longer than 16 KiB"));
    }
    std::string lines = head + "Transfer-Encoding: chunked\r\n\r\n0\r\n";
    for (int i = 0; i < 10'000; ++i) lines += "X: y\r\n";
    EXPECT_THAT(ReadAnswer(lines, piece).error, HasSubstr("the trailer is longer than 16 KiB"));
  }
  EXPECT_EQ(ReadAnswer(head + "A: " + x.substr(0, 60'000) + "\r\n\r\n", 1'000).error, "");
  EXPECT_EQ(ReadAnswer(head + "\r\n" + x, 2 * x.size()).body, x) << "a body counts as none of it";
}

// After the exchange ends within a call nothing more is reported.
TEST(AnswerParserTest, StopsWhenNothingIsDesired) {
  const std::string text =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n";
  Read no_head;
  no_head.accept_head = false;
  AnswerParser first(AnswerParser::To::kRequest, no_head);
  EXPECT_TRUE(first.Take(text).ok());
  EXPECT_EQ(no_head.body, "");
  Read no_more;
  no_more.accept_body = false;
  AnswerParser second(AnswerParser::To::kRequest, no_more);
  EXPECT_TRUE(second.Take(text).ok());
  EXPECT_EQ(no_more.body, "abc");
}

TEST(AnswerParserTest, AnAnswerToConnectHasNoBody) {
  Read read;
  AnswerParser parser(AnswerParser::To::kConnect, read);
  const auto taken = parser.Take("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  ASSERT_TRUE(taken.ok());
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(read.head.status, 200);
}

}  // namespace
}  // namespace weft::http1
