// SPDX-License-Identifier: Apache-2.0
#include "dataplane/huge_pages.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <vector>

namespace weft::dataplane {
namespace {

struct alignas(128) Page : OnHugePages {
  std::array<std::byte, 8200> bytes;
};
struct Small : OnHugePages {
  std::uint64_t value = 0;
};

TEST(OnHugePages, ObjectsAreAlignedAndApart) {
  std::vector<std::unique_ptr<Page>> pages;
  std::set<std::uintptr_t> places;
  for (int i = 0; i < 600; ++i) {  // more than two huge pages of them
    pages.push_back(std::make_unique<Page>());
    pages.back()->bytes.fill(static_cast<std::byte>(i));
    const auto place = reinterpret_cast<std::uintptr_t>(pages.back().get());
    EXPECT_EQ(place % alignof(Page), 0u);
    const auto after = places.insert(place).first;
    if (after != places.begin()) EXPECT_GE(place - *std::prev(after), sizeof(Page));
    if (std::next(after) != places.end()) EXPECT_GE(*std::next(after) - place, sizeof(Page));
  }
  for (std::size_t i = 0; i < pages.size(); ++i)
    EXPECT_EQ(pages[i]->bytes.back(), static_cast<std::byte>(i));
}

// Not under sanitizers: they replace the allocator.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(OnHugePages, FreedMemoryIsReusedByItsSize) {
  const auto place_of = [](const auto& object) {
    return reinterpret_cast<std::uintptr_t>(&object);
  };
  auto page = std::make_unique<Page>();
  auto small = std::make_unique<Small>();
  const std::uintptr_t page_was = place_of(*page);
  const std::uintptr_t small_was = place_of(*small);
  page.reset();
  small.reset();
  small = std::make_unique<Small>();
  page = std::make_unique<Page>();
  EXPECT_EQ(place_of(*page), page_was);
  EXPECT_EQ(place_of(*small), small_was);
}
#endif

}  // namespace
}  // namespace weft::dataplane
