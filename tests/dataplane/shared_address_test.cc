// SPDX-License-Identifier: Apache-2.0
#include "dataplane/shared_address.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace weft::dataplane {
namespace {

TEST(SharedAddress, HoldsTheLastOfEitherFamily) {
  SharedAddress shared;
  EXPECT_EQ(shared.Load(), std::nullopt);
  for (const char* text : {"192.0.2.1", "2001:db8::1", "::", "0.0.0.0", "255.255.255.255"}) {
    shared.Store(*IpAddress::Parse(text));
    EXPECT_EQ(shared.Load(), IpAddress::Parse(text));
  }
  shared.Clear();
  EXPECT_EQ(shared.Load(), std::nullopt);
}

// Never one half of one and one half of another.
TEST(SharedAddress, IsReadWholeWhileItIsWritten) {
  const IpAddress one = *IpAddress::Parse("1111:1111:1111:1111:1111:1111:1111:1111");
  const IpAddress other = *IpAddress::Parse("2222:2222:2222:2222:2222:2222:2222:2222");
  const IpAddress v4 = *IpAddress::Parse("51.51.51.51");
  SharedAddress shared;
  shared.Store(one);
  std::atomic<bool> stop{false};
  std::jthread writer([&] {
    while (!stop) {
      shared.Store(other);
      shared.Store(v4);
      shared.Store(one);
    }
  });
  for (int i = 0; i < 100'000; ++i) {
    const std::optional<IpAddress> seen = shared.Load();
    if (seen) {
      ASSERT_TRUE(*seen == one || *seen == other || *seen == v4) << seen->ToString();
    }
  }
  stop = true;
}

}  // namespace
}  // namespace weft::dataplane
