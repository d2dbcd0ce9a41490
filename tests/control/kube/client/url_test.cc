// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/url.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(UrlTest, Read) {
  struct Row {
    const char* text;
    const char* scheme;
    const char* host;
    int port;
    const char* path;
  };
  for (const Row& row : {
           Row{"https://10.0.0.1:6443", "https", "10.0.0.1", 6443, ""},
           Row{"https://api.example", "https", "api.example", 443, ""},
           Row{"HTTP://api", "http", "api", 80, ""},
           Row{"http://a-b_c.d", "http", "a-b_c.d", 80, ""},
           Row{"https://api:/", "https", "api", 443, ""},
           Row{"https://[2001:db8::1]:6443/", "https", "2001:db8::1", 6443, ""},
           Row{"https://[2001:db8::1]", "https", "2001:db8::1", 443, ""},
           Row{"https://[fe80::1%25eth0]:1/", "https", "fe80::1%eth0", 1, ""},
           Row{"https://rancher/k8s/clusters/c-1/", "https", "rancher", 443, "/k8s/clusters/c-1"},
           Row{"socks5://proxy:1080", "socks5", "proxy", 1080, ""},
           Row{"a+b-c.1://host:1", "a+b-c.1", "host", 1, ""},
           Row{"proxy:3128", "", "proxy", 3128, ""},
           Row{"proxy", "", "proxy", 0, ""},
       }) {
    SCOPED_TRACE(row.text);
    const auto url = ParseUrl(row.text);
    ASSERT_TRUE(url.ok()) << url.status();
    EXPECT_EQ(url->scheme, row.scheme);
    EXPECT_EQ(url->host, row.host);
    EXPECT_EQ(url->port, row.port);
    EXPECT_EQ(url->path, row.path);
  }
}

TEST(UrlTest, UserAndPassword) {
  const auto url = ParseUrl("http://al%40ice:p:w%2F@proxy:3128");
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->username, "al@ice");
  EXPECT_EQ(url->password, "p:w/");
  EXPECT_EQ(url->host, "proxy");
  EXPECT_EQ(ParseUrl("http://alice@proxy")->username, "alice");
  EXPECT_EQ(ParseUrl("http://alice@proxy")->password, "");
}

TEST(UrlTest, Refused) {
  struct Row {
    const char* text;
    const char* reason;
  };
  const std::string long_host = "https://" + std::string(256, 'x');
  for (const Row& row : {
           Row{"", "it has no host"},
           Row{"https://", "it has no host"},
           Row{"https:///path", "it has no host"},
           Row{"https://:6443", "it has no host"},
           Row{"https://host:0", "its port is not a number from 1 to 65535"},
           Row{"https://host:65536", "its port is not a number from 1 to 65535"},
           Row{"https://host:s3cret", "its port is not a number from 1 to 65535"},
           Row{"https://host:+1", "its port is not a number from 1 to 65535"},
           Row{"https://host:1x", "its port is not a number from 1 to 65535"},
           Row{"https://2001:db8::1", "write an IPv6 address in brackets"},
           Row{"https://[2001:db8::1", "its '[' has no ']'"},
           Row{"https://[s3cret]", "is not an IPv6 address"},
           Row{"https://[::1]x", "not followed by"},
           Row{"https://host/?s3cret", "a query or a fragment"},
           Row{"https://host#s3cret", "a query or a fragment"},
           Row{"https://host/s3cret\r\nX: y", "must be escaped"},
           Row{"https://ho st", "neither a name nor an address"},
           Row{"https://host\r\nX", "neither a name nor an address"},
           Row{"https://host%41", "neither a name nor an address"},
           Row{long_host.c_str(), "neither a name nor an address"},
           Row{"https://[::%zz]", "is not an IPv6 address"},
           Row{"https://[::1%20x]", "neither a name nor an address"},
           Row{"https://u:s3cret\x01@host",
               "its user name or password has characters that must be"},
           Row{"https://u:s3 cret@host", "its user name or password has characters that must be"},
           Row{"https://u:s3cret\xc3\xa9@host",
               "its user name or password has characters that must"},
           Row{"https://u:s3cret%@host", "broken percent escape"},
           Row{"https://u:s3cret%4@host", "broken percent escape"},
           Row{"https://u:s3cret%4g@host", "broken percent escape"},
           Row{"https://u:s3cret%g4@host", "broken percent escape"},
           Row{"https://%:s3cret@host", "broken percent escape"},
           Row{"a b://host", "is not a scheme"},
           Row{"://host", "is not a scheme"},
           Row{"abcdefghijklmnopq://host", "is not a scheme"},
       }) {
    SCOPED_TRACE(row.text);
    const auto url = ParseUrl(row.text);
    ASSERT_FALSE(url.ok());
    EXPECT_THAT(std::string(url.status().message()), HasSubstr(row.reason));
    EXPECT_THAT(std::string(url.status().message()), Not(HasSubstr("s3cret")));
  }
}

TEST(UrlTest, HostAndPort) {
  EXPECT_EQ(HostAndPort("api", 443), "api:443");
  EXPECT_EQ(HostAndPort("::1", 6443), "[::1]:6443");
}

}  // namespace
}  // namespace weft::kube
