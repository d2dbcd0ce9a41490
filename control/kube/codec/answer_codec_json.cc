// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/answer_codec_json.h"

#include "absl/strings/str_cat.h"
#include "control/kube/codec/answer_reader_held.h"
#include "control/kube/codec/json_error.h"
#include "control/kube/codec/json_node.h"
#include "control/kube/codec/json_status.h"
#include "control/kube/codec/json_value.h"
#include "control/lease/quoted.h"
#include "simdjson.h"

namespace weft::kube {
namespace {

using simdjson::dom::element;

// A bookmark's object: a Node of which only the metadata counts.
absl::Status TellBookmark(element value, AnswerTeller& teller) {
  const auto object = AsObject(value, "the object of a BOOKMARK");
  if (!object.ok()) return object.status();
  const auto metadata = ObjectMember(*object, "metadata", "metadata");
  if (!metadata.ok()) return metadata.status();
  if (!*metadata) return teller.TellBookmark("", false);
  const auto version = StringMember(**metadata, "resourceVersion", "metadata.resourceVersion");
  if (!version.ok()) return version.status();
  const auto annotations = ObjectMember(**metadata, "annotations", "metadata.annotations");
  if (!annotations.ok()) return annotations.status();
  bool initial_events_end = false;
  if (*annotations) {
    const auto mark = StringMember(**annotations, kInitialEventsEnd, "the end mark");
    if (!mark.ok()) return mark.status();
    initial_events_end = *mark == "true";
  }
  return teller.TellBookmark(*version, initial_events_end);
}

}  // namespace

struct JsonAnswerCodec::Document {
  element root;
};

JsonAnswerCodec::JsonAnswerCodec() : parser_(std::make_unique<simdjson::dom::parser>()) {}
JsonAnswerCodec::~JsonAnswerCodec() = default;

absl::Status JsonAnswerCodec::TellItem(std::string_view text, std::size_t behind,
                                       AnswerTeller& teller) {
  Document document;
  if (const auto status = Parse(text, behind, document); !status.ok()) return status;
  ReadJsonNode(document.root, teller.keys(), teller.fields());
  teller.TellNode(NodeChange::kListed);
  return absl::OkStatus();
}

absl::Status JsonAnswerCodec::TellEvent(std::string_view text, std::size_t behind,
                                        AnswerTeller& teller) {
  Document document;
  if (const auto status = Parse(text, behind, document); !status.ok()) return status;
  const auto event = AsObject(document.root, "a watch event");
  if (!event.ok()) return event.status();
  const auto name = StringMember(*event, "type", "the watch event's type");
  if (!name.ok()) return name.status();
  const auto type = EventTypeOf(*name);
  if (!type) return absl::DataLossError("a watch event of type " + lease::Quoted(*name));
  const auto object = Find(*event, "object");
  if (!object) return absl::DataLossError("a watch event without an object");
  if (*type == EventType::kError) {
    ApiStatus status;
    if (!ReadJsonStatus(*object, status)) status.message = "an ERROR event without a Status";
    teller.TellError(status);
    return absl::OkStatus();
  }
  if (*type == EventType::kBookmark) return TellBookmark(*object, teller);
  ReadJsonNode(*object, teller.keys(), teller.fields());
  teller.TellNode(ChangeOf(*type));
  return absl::OkStatus();
}

absl::Status JsonAnswerCodec::ReadListMeta(std::string_view text, ListMeta& meta) {
  Document document;
  if (const auto status = Parse(text, 0, document); !status.ok()) return status;
  meta = {};
  if (document.root.is_null()) return absl::OkStatus();
  const auto object = AsObject(document.root, "metadata");
  if (!object.ok()) return object.status();
  const auto version = StringMember(*object, "resourceVersion", "metadata.resourceVersion");
  if (!version.ok()) return version.status();
  const auto token = StringMember(*object, "continue", "metadata.continue");
  if (!token.ok()) return token.status();
  meta.resource_version = *version;
  meta.continue_token = *token;
  return absl::OkStatus();
}

absl::Status JsonAnswerCodec::Parse(std::string_view text, std::size_t behind, Document& document) {
  // Its room is some twenty times the text: that of a large object is not kept.
  if (parser_->capacity() > HeldOctets::kKept) {
    parser_ = std::make_unique<simdjson::dom::parser>();
  }
  const bool copy = behind < simdjson::SIMDJSON_PADDING;
  const auto error = parser_->parse(text.data(), text.size(), copy).get(document.root);
  if (error == simdjson::SUCCESS) return absl::OkStatus();
  const auto octet = FindJsonError(text);
  return absl::DataLossError(
      absl::StrCat("not JSON", octet ? absl::StrCat(" ", *octet, " octets further on") : "", ": ",
                   simdjson::error_message(error)));
}

}  // namespace weft::kube
