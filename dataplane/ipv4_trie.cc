// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ipv4_trie.h"

#include <algorithm>

namespace weft::dataplane {
namespace {

// The entries of a prefix of at most /12, /24 or /32 in the array of its level.
struct Range {
  std::size_t first;
  std::size_t count;
};

Range RangeOf(std::uint32_t base, int length, int level_bits) {
  const std::size_t in_level = level_bits == 32 ? 0xff : 0xfff;
  return {(base >> (32 - level_bits)) & in_level, std::size_t{1} << (level_bits - length)};
}

bool AllEqual(const auto& entries) {
  return std::all_of(entries.begin(), entries.end(),
                     [&](auto entry) { return entry == entries[0]; });
}

}  // namespace

Ipv4TrieWriter::Ipv4TrieWriter(Edition& edition)
    : edition_(edition), root_(edition.Make<Ipv4Trie>()), length_of_{-1} {}

Ipv4TrieWriter::~Ipv4TrieWriter() {
  for (const Page* page : root_->pages_) {
    if (page == nullptr) continue;
    for (const LongPage* longer : page->longer) delete longer;
    delete page;
  }
  delete root_;
}

void Ipv4TrieWriter::Insert(std::uint32_t base, int length, std::uint32_t value) {
  SetLengthOf(value, length);
  Rewrite(base, length,
          [&](std::uint32_t entry) { return length_of_[entry] < length ? value : entry; });
}

void Ipv4TrieWriter::Exchange(std::uint32_t base, int length, std::uint32_t old,
                              std::uint32_t value) {
  SetLengthOf(value, length);
  Rewrite(base, length, [&](std::uint32_t entry) { return entry == old ? value : entry; });
}

void Ipv4TrieWriter::SetLengthOf(std::uint32_t value, int length) {
  if (value >= length_of_.size()) length_of_.resize(value + 1, -1);
  length_of_[value] = static_cast<std::int8_t>(length);
}

void Ipv4TrieWriter::Erase(std::uint32_t base, int length, std::uint32_t value,
                           std::uint32_t cover) {
  Rewrite(base, length, [&](std::uint32_t old) { return old == value ? cover : old; });
  Collapse(base, length);
}

template <typename Replace>
void Ipv4TrieWriter::Rewrite(std::uint32_t base, int length, Replace replace) {
  Ipv4Trie& root = edition_.Writable(root_);
  if (length <= 12) {
    const Range range = RangeOf(base, length, 12);
    for (std::size_t i = range.first; i < range.first + range.count; ++i) {
      if (root.pages_[i] == nullptr) {
        root.leaves_[i] = replace(root.leaves_[i]);
        continue;
      }
      Page& page = edition_.Writable(root.pages_[i]);
      for (std::size_t j = 0; j < page.entries.size(); ++j) RewriteEntry(page, j, replace);
    }
    return;
  }
  Page*& slot = root.pages_[base >> 20];
  if (slot == nullptr) {
    slot = edition_.Make<Page>();
    slot->entries.fill(root.leaves_[base >> 20]);
  }
  Page& page = edition_.Writable(slot);
  if (length <= 24) {
    const Range range = RangeOf(base, length, 24);
    for (std::size_t j = range.first; j < range.first + range.count; ++j)
      RewriteEntry(page, j, replace);
    return;
  }
  LongPage& longer = LongPageOf(page, base >> 8 & 0xfff);
  const Range range = RangeOf(base, length, 32);
  for (std::size_t k = range.first; k < range.first + range.count; ++k)
    longer.entries[k] = replace(longer.entries[k]);
}

template <typename Replace>
void Ipv4TrieWriter::RewriteEntry(Page& page, std::size_t index, Replace replace) {
  std::uint32_t& entry = page.entries[index];
  if ((entry & Ipv4Trie::kLonger) == 0) {
    entry = replace(entry);
    return;
  }
  for (std::uint32_t& value : LongPageOf(page, index).entries) value = replace(value);
}

Ipv4Trie::LongPage& Ipv4TrieWriter::LongPageOf(Page& page, std::size_t index) {
  std::uint32_t& entry = page.entries[index];
  if ((entry & Ipv4Trie::kLonger) != 0)
    return edition_.Writable(page.longer[entry & ~Ipv4Trie::kLonger]);
  LongPage* const made = edition_.Make<LongPage>();
  made->entries.fill(entry);
  auto hole = std::find(page.longer.begin(), page.longer.end(), nullptr);
  if (hole == page.longer.end()) hole = page.longer.insert(hole, nullptr);
  *hole = made;
  entry = Ipv4Trie::kLonger | static_cast<std::uint32_t>(hole - page.longer.begin());
  return *made;
}

// Drops pages below and above base/length whose entries have become equal.
void Ipv4TrieWriter::Collapse(std::uint32_t base, int length) {
  const Range pages = RangeOf(base, std::min(length, 12), 12);
  for (std::size_t i = pages.first; i < pages.first + pages.count; ++i) {
    Page* const page = root_->pages_[i];
    if (page == nullptr) continue;
    const Range entries = length <= 12 ? Range{0, 4096} : RangeOf(base, std::min(length, 24), 24);
    for (std::size_t j = entries.first; j < entries.first + entries.count; ++j)
      CollapseEntry(*page, j);
    CollapsePage(i);
  }
}

void Ipv4TrieWriter::CollapseEntry(Page& page, std::size_t index) {
  std::uint32_t& entry = page.entries[index];
  if ((entry & Ipv4Trie::kLonger) == 0) return;
  LongPage*& longer = page.longer[entry & ~Ipv4Trie::kLonger];
  if (!AllEqual(longer->entries)) return;
  entry = longer->entries[0];
  edition_.Drop(std::exchange(longer, nullptr));
  while (!page.longer.empty() && page.longer.back() == nullptr) page.longer.pop_back();
}

void Ipv4TrieWriter::CollapsePage(std::size_t index) {
  Page*& page = root_->pages_[index];
  if (!page->longer.empty() || !AllEqual(page->entries)) return;
  root_->leaves_[index] = page->entries[0];
  edition_.Drop(std::exchange(page, nullptr));
}

std::size_t Ipv4TrieWriter::bytes() const {
  std::size_t bytes = sizeof(Ipv4Trie);
  for (const Page* page : root_->pages_) {
    if (page == nullptr) continue;
    bytes += sizeof(Page) + page->longer.capacity() * sizeof(LongPage*);
    for (const LongPage* longer : page->longer) bytes += longer == nullptr ? 0 : sizeof(LongPage);
  }
  return bytes;
}

}  // namespace weft::dataplane
