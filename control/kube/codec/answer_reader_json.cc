// SPDX-License-Identifier: Apache-2.0
// Lists and watches in JSON, one whole object at a time: an event of a watch, or a whole list,
// which list_watch therefore requests in pages.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/kube/codec/answer_reader.h"
#include "control/kube/codec/answer_reader_held.h"
#include "control/kube/codec/api_status_codec.h"
#include "control/kube/codec/json_value.h"
#include "simdjson.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

struct Bookmark {
  std::string_view version;
  bool initial_events_end = false;
};

// A bookmark's object is a Node of which only the metadata is used.
absl::Status ReadBookmark(element value, Bookmark& bookmark) {
  const auto node = AsObject(value, "the object of a BOOKMARK");
  if (!node.ok()) return node.status();
  const auto metadata = ObjectMember(*node, "metadata", "metadata");
  if (!metadata.ok()) return metadata.status();
  if (!*metadata) return absl::OkStatus();
  const auto version = StringMember(**metadata, "resourceVersion", "metadata.resourceVersion");
  if (!version.ok()) return version.status();
  bookmark.version = *version;
  const auto annotations = ObjectMember(**metadata, "annotations", "metadata.annotations");
  if (!annotations.ok() || !*annotations) return annotations.status();
  const auto mark = StringMember(**annotations, kInitialEventsEnd, "the end mark");
  if (!mark.ok()) return mark.status();
  bookmark.initial_events_end = *mark == "true";
  return absl::OkStatus();
}

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

std::size_t JsonObjectEnd::Take(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      return i + 1;
    }
  }
  return bytes.size();
}

JsonAnswerReader::JsonAnswerReader(AnswerKind kind, NodeReader nodes, AnswerListener& listener)
    : AnswerReader(std::move(nodes), listener), kind_(kind) {}

absl::Status JsonAnswerReader::Read(std::string_view bytes) {
  while (true) {
    if (!end_.inside()) {
      const std::size_t space = std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size());
      bytes.remove_prefix(space);
      at_ += space;
      if (bytes.empty()) return absl::OkStatus();
      if (bytes.front() != '{' || list_read_) {
        const char* expected = list_read_                   ? " after the list's end"
                               : kind_ == AnswerKind::kList ? " where the list should begin"
                                                            : " where an event should begin";
        return BrokenAt(at_, absl::StrCat(Quoted(bytes.substr(0, 1)), expected));
      }
      begin_ = at_;
    }
    const std::string_view part = bytes.substr(0, end_.Take(bytes));
    bytes.remove_prefix(part.size());
    at_ += part.size();
    const std::size_t most = kind_ == AnswerKind::kList ? kMaxPage : kMaxObject;
    if (at_ - begin_ > most)
      return BrokenAt(begin_, absl::StrCat("an object of more than ", most, " bytes"));
    const bool in_place = held_.empty() && !end_.inside();
    if (!in_place) held_.Append(part);
    if (end_.inside()) return absl::OkStatus();
    const auto status = ReadObject(in_place ? part : held_.view());
    held_.Clear();
    if (!status.ok()) return BrokenAt(begin_, status.message());
  }
}

absl::Status JsonAnswerReader::Finish() {
  if (kind_ == AnswerKind::kList)
    return list_read_ ? absl::OkStatus() : BrokenAt(at_, "it ends before the list does");
  if (!end_.inside()) return absl::OkStatus();
  return BrokenAt(at_, absl::StrCat("it ends within the event that began at byte ", begin_));
}

absl::Status JsonAnswerReader::ReadObject(std::string_view text) {
  // The parser needs about twenty times the text in memory: after a large object it is released.
  if (parser_.capacity() > HeldBytes::kKept) parser_ = simdjson::dom::parser();
  object root;
  const auto error = parser_.parse(text.data(), text.size()).get_object().get(root);
  if (error != simdjson::SUCCESS) {
    const auto byte = FindJsonError(text);
    return absl::DataLossError(
        absl::StrCat("not JSON", byte ? absl::StrCat(" ", *byte, " bytes further on") : "", ": ",
                     simdjson::error_message(error)));
  }
  return kind_ == AnswerKind::kList ? ReadList(root) : ReadEvent(root);
}

absl::Status JsonAnswerReader::ReadEvent(object event) {
  const auto name = StringMember(event, "type", "the watch event's type");
  if (!name.ok()) return name.status();
  const auto type = EventTypeOf(*name);
  if (!type) return absl::DataLossError("a watch event of type " + Quoted(*name));
  const auto value = Find(event, "object");
  if (!value) return absl::DataLossError("a watch event without an object");
  if (*type == EventType::kError) {
    ApiStatus status;
    if (!ReadJsonStatus(*value, status)) status.message = "an ERROR event without a Status";
    ReportError(status);
    return absl::OkStatus();
  }
  if (*type == EventType::kBookmark) {
    Bookmark bookmark;
    if (const auto status = ReadBookmark(*value, bookmark); !status.ok()) return status;
    return ReportBookmark(bookmark.version, bookmark.initial_events_end);
  }
  ReadJsonNode(*value, keys(), fields());
  ReportNode(ChangeOf(*type));
  return absl::OkStatus();
}

// {"kind": ..., "metadata": {...}, "items": [...]}
absl::Status JsonAnswerReader::ReadList(object list) {
  element items;
  if (const auto kind = Find(list, "kind");
      kind && Show(*kind) != "\"NodeList\"" && Show(*kind) != "\"List\"") {
    return absl::DataLossError(absl::StrCat("it is a ", Show(*kind), ", not a \"NodeList\""));
  }
  if (list.at_key("items").get(items) != simdjson::SUCCESS)
    return absl::DataLossError("it is not a list of Nodes: no \"items\"");
  std::string_view version, token;
  const auto metadata = ObjectMember(list, "metadata", "metadata");
  if (!metadata.ok()) return metadata.status();
  if (*metadata) {
    const auto its_version =
        StringMember(**metadata, "resourceVersion", "metadata.resourceVersion");
    if (!its_version.ok()) return its_version.status();
    const auto its_token = StringMember(**metadata, "continue", "metadata.continue");
    if (!its_token.ok()) return its_token.status();
    version = *its_version;
    token = *its_token;
  }
  if (!items.is_null()) {
    const auto nodes = AsArray(items, "items");
    if (!nodes.ok()) return nodes.status();
    for (const element node : *nodes) {
      ReadJsonNode(node, keys(), fields());
      ReportNode(NodeChange::kListed);
    }
  }
  list_read_ = true;
  return ReportListEnd(version, token);
}

}  // namespace

std::unique_ptr<AnswerReader> MakeJsonReader(AnswerKind kind, NodeReader nodes,
                                             AnswerListener& listener) {
  return std::make_unique<JsonAnswerReader>(kind, std::move(nodes), listener);
}

}  // namespace weft::kube
