// SPDX-License-Identifier: Apache-2.0
// Lists and watches in JSON, one whole object at a time: an event of a watch, or a whole list,
// which list_watch therefore requests in pages.
#pragma once

#include <cstdint>
#include <string_view>

#include "control/kube/codec/answer_reader.h"
#include "control/kube/codec/answer_reader_held.h"
#include "simdjson.h"

namespace weft::kube {

// Finds the end of an object as its bytes arrive, by counting brackets outside of strings. simdjson
// then checks whether the object is JSON.
class JsonObjectEnd {
 public:
  bool inside() const { return depth_ > 0; }
  // The number of `bytes` that belong to the object, which begins with the first one unless
  // inside().
  std::size_t Take(std::string_view bytes);

 private:
  std::uint64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

class JsonAnswerReader final : public AnswerReader {
 public:
  JsonAnswerReader(AnswerKind kind, NodeReader nodes, AnswerListener& listener);

  absl::Status Read(std::string_view bytes) override;
  absl::Status Finish() override;

 private:
  absl::Status ReadObject(std::string_view text);
  absl::Status ReadEvent(simdjson::dom::object event);
  absl::Status ReadList(simdjson::dom::object list);

  const AnswerKind kind_;
  simdjson::dom::parser parser_;
  JsonObjectEnd end_;
  HeldBytes held_;
  std::uint64_t at_ = 0;     // bytes read so far
  std::uint64_t begin_ = 0;  // where the object begins
  bool list_read_ = false;
};

}  // namespace weft::kube
