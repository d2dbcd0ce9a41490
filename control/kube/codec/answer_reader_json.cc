// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/answer_reader_json.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/lease/quoted.h"

namespace weft::kube {
namespace {

// No value begins with one of these.
constexpr std::string_view kMarks = ",:]}";

// How many octets of white space `text` begins with.
std::size_t SpaceOf(std::string_view text) {
  return std::min(text.find_first_not_of(" \t\r\n"), text.size());
}

absl::Status TooLong(std::uint64_t octet) {
  return BrokenAt(octet,
                  absl::StrCat("an object of more than ", AnswerReader::kMaxObject, " octets"));
}

}  // namespace

void JsonValueCutter::Begin(char first, std::uint64_t at) {
  finder_.Begin(first);
  amid_ = true;
  begin_ = at;
}

std::optional<std::string_view> JsonValueCutter::Take(std::string_view& octets, bool hold) {
  const std::string_view part = octets.substr(0, finder_.Take(octets));
  octets.remove_prefix(part.size());
  amid_ = !finder_.ended();
  if (!hold || (held_.empty() && !amid_)) return amid_ ? std::nullopt : std::optional(part);
  held_.Append(part);
  if (amid_) return std::nullopt;
  return held_.view();
}

absl::Status JsonWatchReader::Read(std::string_view octets) {
  while (true) {
    if (!value_.amid()) {
      const std::size_t space = SpaceOf(octets);
      octets.remove_prefix(space);
      at_ += space;
      if (octets.empty()) return absl::OkStatus();
      if (octets.front() != '{') {
        return BrokenAt(
            at_, absl::StrCat(lease::Quoted(octets.substr(0, 1)), " where an event should begin"));
      }
      value_.Begin(octets.front(), at_);
    }
    const std::size_t before = octets.size();
    const auto event = value_.Take(octets, /*hold=*/true);
    at_ += before - octets.size();
    if (at_ - value_.begin() > kMaxObject) return TooLong(value_.begin());
    if (!event) return absl::OkStatus();
    const auto status = codec_.TellEvent(*event, value_.Behind(octets), teller_);
    value_.Clear();
    if (!status.ok()) return BrokenAt(value_.begin(), status.message());
  }
}

absl::Status JsonWatchReader::Finish() {
  if (!value_.amid()) return absl::OkStatus();
  return BrokenAt(at_, absl::StrCat("it ends amid the event that began at octet ", value_.begin()));
}

absl::Status JsonListReader::Read(std::string_view octets) {
  absl::Status status;
  while (status.ok()) {
    if (!value_.amid()) {
      const std::size_t space = SpaceOf(octets);
      octets.remove_prefix(space);
      at_ += space;
    }
    if (octets.empty()) break;
    status = value_.amid() ? TakeValue(octets) : OnMark(octets);
  }
  return status;
}

absl::Status JsonListReader::Finish() {
  if (expect_ == Expect::kNothing) return absl::OkStatus();
  return BrokenAt(at_, "it ends before the list does");
}

// Reads one mark of the list's own grammar, or begins the value that stands there.
absl::Status JsonListReader::OnMark(std::string_view& octets) {
  const char c = octets.front();
  switch (expect_) {
    case Expect::kList:
      if (c != '{') break;
      Consume(octets, Expect::kKeyOrEnd);
      return absl::OkStatus();
    case Expect::kKeyOrEnd:
      if (c == '}') return EndList(octets);
      [[fallthrough]];
    case Expect::kKey:
      if (c != '"') break;
      expect_ = Expect::kKey;
      value_.Begin(c, at_);
      return absl::OkStatus();
    case Expect::kColon:
      if (c != ':') break;
      Consume(octets, Expect::kValue);
      return absl::OkStatus();
    case Expect::kValue:
      if (member_ == Member::kItems && c == '[') {
        Consume(octets, Expect::kItemOrEnd);
        return absl::OkStatus();
      }
      if (absl::StrContains(kMarks, c)) break;
      value_.Begin(c, at_);
      return absl::OkStatus();
    case Expect::kComma:
      if (c == '}') return EndList(octets);
      if (c != ',') break;
      Consume(octets, Expect::kKey);
      return absl::OkStatus();
    case Expect::kItemOrEnd:
    case Expect::kItemsComma:
      if (c == ']') {
        Consume(octets, Expect::kComma);
        return absl::OkStatus();
      }
      if (expect_ == Expect::kItemsComma) {
        if (c != ',') break;
        Consume(octets, Expect::kItem);
        return absl::OkStatus();
      }
      [[fallthrough]];
    case Expect::kItem:
      if (absl::StrContains(kMarks, c)) break;
      expect_ = Expect::kItem;
      value_.Begin(c, at_);
      return absl::OkStatus();
    case Expect::kNothing:
      break;
  }
  return BrokenAt(at_, absl::StrCat("not JSON, or no list: ", lease::Quoted(octets.substr(0, 1))));
}

absl::Status JsonListReader::TakeValue(std::string_view& octets) {
  const bool skipped = expect_ == Expect::kValue && member_ == Member::kOther;
  const std::size_t before = octets.size();
  const auto text = value_.Take(octets, !skipped);
  at_ += before - octets.size();
  if (!skipped && at_ - value_.begin() > kMaxObject) return TooLong(value_.begin());
  if (!text) return absl::OkStatus();
  absl::Status status;
  if (expect_ == Expect::kItem) {
    status = codec_.TellItem(*text, value_.Behind(octets), teller_);
    expect_ = Expect::kItemsComma;
  } else if (expect_ == Expect::kKey) {
    status = OnKey(*text);
    expect_ = Expect::kColon;
  } else {
    status = OnMember(*text);
    expect_ = Expect::kComma;
  }
  value_.Clear();
  return status.ok() ? status : BrokenAt(value_.begin(), status.message());
}

// `text` with its quotes. Nobody writes these names with escapes.
absl::Status JsonListReader::OnKey(std::string_view text) {
  member_ = text == "\"kind\""       ? Member::kKind
            : text == "\"metadata\"" ? Member::kMetadata
            : text == "\"items\""    ? Member::kItems
                                     : Member::kOther;
  if (member_ != Member::kItems) return absl::OkStatus();
  if (has_items_) return absl::DataLossError("a second list");
  has_items_ = true;
  return absl::OkStatus();
}

absl::Status JsonListReader::OnMember(std::string_view text) {
  switch (member_) {
    case Member::kOther:
      return absl::OkStatus();
    case Member::kKind:
      if (text == "\"NodeList\"" || text == "\"List\"" || text == "null") return absl::OkStatus();
      return absl::DataLossError(
          absl::StrCat("it is a ", lease::Quoted(text), ", not a \"NodeList\""));
    case Member::kMetadata:
      return codec_.ReadListMeta(text, meta_);
    case Member::kItems:
      if (text == "null") return absl::OkStatus();
      return absl::DataLossError("items is no array");
  }
  return absl::OkStatus();
}

absl::Status JsonListReader::EndList(std::string_view& octets) {
  if (!has_items_) return BrokenAt(at_, "it is no list of Nodes: no \"items\"");
  const auto status = teller_.TellListEnd(meta_.resource_version, meta_.continue_token);
  if (!status.ok()) return BrokenAt(at_, status.message());
  Consume(octets, Expect::kNothing);
  return absl::OkStatus();
}

void JsonListReader::Consume(std::string_view& octets, Expect next) {
  octets.remove_prefix(1);
  ++at_;
  expect_ = next;
}

}  // namespace weft::kube
