// SPDX-License-Identifier: Apache-2.0
// Lists and watches in JSON, cut into the values that are wanted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "control/kube/codec/answer_codec_json.h"
#include "control/kube/codec/answer_reader.h"
#include "control/kube/codec/answer_reader_held.h"
#include "control/kube/codec/answer_reader_teller.h"
#include "control/kube/codec/json_end_finder.h"

namespace weft::kube {

// One value after the other.
class JsonValueCutter {
 public:
  bool amid() const { return amid_; }
  // The octet of the answer at which the value begins.
  std::uint64_t begin() const { return begin_; }
  // A value begins with the front of what Take is given next.
  void Begin(char first, std::uint64_t at);
  // The value once it is whole, in place where all of it is; `octets` loses it. With `hold` off it
  // is not kept: what is returned is its end. Afterwards Clear(), before `octets` goes.
  std::optional<std::string_view> Take(std::string_view& octets, bool hold);
  // How many octets behind the value may be read, when `octets` are what is left.
  std::size_t Behind(std::string_view octets) const { return held_.empty() ? octets.size() : 0; }
  void Clear() { held_.Clear(); }

 private:
  JsonEndFinder finder_;
  HeldOctets held_;
  bool amid_ = false;
  std::uint64_t begin_ = 0;
};

// Objects one after the other, with or without white space between them.
class JsonWatchReader : public AnswerReader {
 public:
  explicit JsonWatchReader(AnswerTeller teller) : teller_(std::move(teller)) {}

  absl::Status Read(std::string_view octets) override;
  absl::Status Finish() override;

 private:
  AnswerTeller teller_;
  JsonAnswerCodec codec_;
  JsonValueCutter value_;
  std::uint64_t at_ = 0;  // octets taken so far
};

// {"kind": ..., "metadata": {...}, "items": [...]}, members in any order.
class JsonListReader : public AnswerReader {
 public:
  explicit JsonListReader(AnswerTeller teller) : teller_(std::move(teller)) {}

  absl::Status Read(std::string_view octets) override;
  absl::Status Finish() override;

 private:
  // What may come next.
  enum class Expect : std::uint8_t {
    kList,        // {
    kKeyOrEnd,    // " }
    kKey,         // "
    kColon,       // :
    kValue,       // of the member key_
    kComma,       // , }
    kItemOrEnd,   // an item or ]
    kItem,        // an item
    kItemsComma,  // , ]
    kNothing,     // but white space
  };
  enum class Member : std::uint8_t { kOther, kKind, kMetadata, kItems };

  absl::Status OnMark(std::string_view& octets);
  absl::Status TakeValue(std::string_view& octets);
  absl::Status OnKey(std::string_view text);
  absl::Status OnMember(std::string_view text);
  absl::Status EndList(std::string_view& octets);
  void Consume(std::string_view& octets, Expect next);

  AnswerTeller teller_;
  JsonAnswerCodec codec_;
  JsonValueCutter value_;
  std::uint64_t at_ = 0;  // octets taken so far
  Expect expect_ = Expect::kList;
  Member member_ = Member::kOther;
  bool has_items_ = false;
  JsonAnswerCodec::ListMeta meta_;
};

}  // namespace weft::kube
