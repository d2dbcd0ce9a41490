// SPDX-License-Identifier: Apache-2.0
// Longest prefix match over IPv4: a multibit trie with strides 12, 12 and 8; every prefix is
// expanded to the level in which it ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/copy_on_write.h"

namespace weft::dataplane {

// One published state, for readers. 48 KiB, plus 16 KiB for each /12 that contains longer prefixes,
// plus 1 KiB for each /24 that contains longer prefixes. Any number of threads.
class Ipv4Trie : public SharedPage {
 public:
  // The value of the longest prefix that covers `address` (host order); 0: none does.
  std::uint32_t Find(std::uint32_t address) const {
    const Page* const page = pages_[address >> 20];
    if (page == nullptr) return leaves_[address >> 20];
    const std::uint32_t entry = page->entries[address >> 8 & 0xfff];
    // One comparison excludes both 0 and an index: callers check next whether there is a value.
    if (entry - 1 < kLonger - 1) [[likely]]
      return entry;
    if (entry == 0) return 0;
    return page->longer[entry & ~kLonger]->entries[address & 0xff];
  }

 private:
  friend class Ipv4TrieWriter;
  static constexpr std::uint32_t kLonger = std::uint32_t{1}
                                           << 31;  // the entry is an index into Page::longer

  struct LongPage : SharedPage {  // one /24, an entry for each address
    alignas(64) std::array<std::uint32_t, 256> entries;
  };
  struct Page : SharedPage {  // one /12, an entry for each /24
    alignas(64) std::array<std::uint32_t, 4096> entries;
    std::vector<LongPage*> longer;  // free entries are null
  };

  std::array<Page*, 4096> pages_{};  // one for each /12; null: the leaf applies
  std::array<std::uint32_t, 4096> leaves_{};
};

// Changes the trie, copying the pages it touches. One control thread. The edition outlives it.
class Ipv4TrieWriter {
 public:
  explicit Ipv4TrieWriter(Edition& edition);
  ~Ipv4TrieWriter();
  Ipv4TrieWriter(const Ipv4TrieWriter&) = delete;
  Ipv4TrieWriter& operator=(const Ipv4TrieWriter&) = delete;

  // `base` in host order, its host bits zero; `value` is 1..2^31-1 and belongs to this prefix only.
  // The prefix must not exist.
  void Insert(std::uint32_t base, int length, std::uint32_t value);
  // `value` takes the place of `old`, which was inserted for this prefix.
  void Exchange(std::uint32_t base, int length, std::uint32_t old, std::uint32_t value);
  // Undoes Insert; `cover` is the value of the longest shorter prefix around it, 0 if there is
  // none.
  void Erase(std::uint32_t base, int length, std::uint32_t value, std::uint32_t cover);

  const Ipv4Trie* trie() const { return root_; }
  std::size_t bytes() const;  // memory of the newest state

 private:
  using Page = Ipv4Trie::Page;
  using LongPage = Ipv4Trie::LongPage;

  void SetLengthOf(std::uint32_t value, int length);
  // Applies `replace` to the value of every address in base/length.
  template <typename Replace>
  void Rewrite(std::uint32_t base, int length, Replace replace);
  template <typename Replace>
  void RewriteEntry(Page& page, std::size_t index, Replace replace);
  LongPage& LongPageOf(Page& page, std::size_t index);
  void Collapse(std::uint32_t base, int length);
  void CollapseEntry(Page& page, std::size_t index);
  void CollapsePage(std::size_t index);

  Edition& edition_;
  Ipv4Trie* root_;
  std::vector<std::int8_t> length_of_;  // by value: its prefix's length; -1 for value 0, no prefix
};

}  // namespace weft::dataplane
