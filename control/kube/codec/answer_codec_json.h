// SPDX-License-Identifier: Apache-2.0
// Whole JSON objects of an answer. An error means that a text is no JSON, or no such object.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "control/kube/codec/answer_reader_teller.h"

namespace simdjson::dom {
class parser;
}

namespace weft::kube {

class JsonAnswerCodec {
 public:
  JsonAnswerCodec();
  ~JsonAnswerCodec();

  // In each, at least `behind` octets after `text` may be read too: with enough of them, nothing is
  // copied.

  // An item of a list, told.
  absl::Status TellItem(std::string_view text, std::size_t behind, AnswerTeller& teller);
  // One event of a watch, told.
  absl::Status TellEvent(std::string_view text, std::size_t behind, AnswerTeller& teller);
  struct ListMeta {
    std::string resource_version;
    std::string continue_token;
  };
  absl::Status ReadListMeta(std::string_view text, ListMeta& meta);

 private:
  struct Document;
  absl::Status Parse(std::string_view text, std::size_t behind, Document& document);

  std::unique_ptr<simdjson::dom::parser> parser_;
};

}  // namespace weft::kube
