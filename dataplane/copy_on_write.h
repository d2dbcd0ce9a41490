// SPDX-License-Identifier: Apache-2.0
// Pages shared between published states: a writer changes a copy, readers keep the old page. A page
// that no new state uses is freed once no reader of older states is left.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "dataplane/huge_pages.h"

namespace weft::dataplane {

// Base of every page that readers may see. Written only while `edition` is the edition under
// construction.
struct SharedPage : OnHugePages {
  std::uint64_t edition = 0;
};

// An unused page of any type.
using RetiredPage = std::unique_ptr<SharedPage, void (*)(SharedPage*)>;

// The state under construction. One control thread.
class Edition {
 public:
  // Creates a page, writable until the next Publish. The caller owns it and passes it to Drop.
  template <typename Page, typename... Args>
  Page* Make(Args&&... args) {
    Page* page = new Page(std::forward<Args>(args)...);
    page->edition = number_;
    return page;
  }

  // Replaces `page` by a copy if readers may see it. Returns the page to write.
  template <typename Page>
  Page& Writable(Page*& page) {
    if (page->edition != number_) {
      Page* copy = new Page(*page);
      copy->edition = number_;
      Drop(std::exchange(page, copy));
    }
    return *page;
  }

  // `page` belongs to no state from this edition on.
  template <typename Page>
  void Drop(Page* page) {
    RetiredPage retired(page, [](SharedPage* base) { delete static_cast<Page*>(base); });
    if (page->edition != number_)
      retired_.push_back(std::move(retired));  // else no reader has seen it: freed here
  }

  // Ends this edition: its pages are never written again. Returns those that only older states use.
  std::vector<RetiredPage> Publish() {
    ++number_;
    return std::exchange(retired_, {});
  }

 private:
  std::uint64_t number_ = 1;
  std::vector<RetiredPage> retired_;
};

}  // namespace weft::dataplane
