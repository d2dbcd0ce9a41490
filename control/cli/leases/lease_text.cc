// SPDX-License-Identifier: Apache-2.0
#include "control/cli/leases/lease_text.h"

#include <array>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/cli/json_to_yaml.h"
#include "nlohmann/json.hpp"

namespace weft::cli {
namespace {

auto Key(const admin::LeaseRow& row) { return std::tie(row.node, row.uid); }
const std::string& Key(const lease::RefusedNode& node) { return node.name; }
const std::string& Key(const lease::NotJoinedNode& node) { return node.node.name; }

// Merges two ordered lists.
template <class Row>
std::vector<Event<Row>> Differences(const std::vector<Row>& before, const std::vector<Row>& after) {
  std::vector<Event<Row>> events;
  auto old_row = before.begin();
  auto new_row = after.begin();
  while (old_row != before.end() || new_row != after.end()) {
    if (new_row == after.end() || (old_row != before.end() && Key(*old_row) < Key(*new_row))) {
      events.push_back({Change::kDeleted, *old_row++});
    } else if (old_row == before.end() || Key(*new_row) < Key(*old_row)) {
      events.push_back({Change::kAdded, *new_row++});
    } else {
      if (*old_row != *new_row) events.push_back({Change::kModified, *new_row});
      ++old_row;
      ++new_row;
    }
  }
  return events;
}

constexpr std::string_view kChanges[] = {"ADDED", "MODIFIED", "DELETED"};

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, LeaseForm>, 5> kForms{{
    {"table", LeaseForm::kTable},
    {"wide", LeaseForm::kWide},
    {"json", LeaseForm::kJson},
    {"yaml", LeaseForm::kYaml},
    {"name", LeaseForm::kName},
}};

// The promised columns: changing them is a change of flannelctl.8 and of the goldens.
std::vector<std::string> Headers(LeaseForm form) {
  if (form == LeaseForm::kTable) return {"NODE", "SUBNET", "PUBLIC-IP", "VTEP-MAC", "STATE"};
  return {"NODE", "SUBNET", "PUBLIC-IP", "VTEP-MAC", "STATE", "VNI", "BACKEND", "UID", "WHY"};
}

template <class T>
std::string Cell(const std::optional<T>& value) {
  return value ? value->ToString() : std::string();
}

// The form of kubectl's --output-watch-events.
Json Document(Change change, const char* what, Json object) {
  Json event = Json::object();
  event["type"] = Name(change);
  event[what] = std::move(object);
  return event;
}

Json ToJson(const lease::RefusedNode& node) {
  Json json{{"name", node.name}, {"reason", node.reason}};
  if (!node.uid.empty()) json["uid"] = node.uid;
  return json;
}

// A Node without a lease, in the form of a refused one.
lease::RefusedNode Unleased(const lease::NotJoinedNode& node) {
  return {node.node.name, node.reason, node.node.uid};
}

// A path may contain any bytes: those that are not UTF-8 are replaced; nlohmann would throw.
std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string_view Name(Change change) { return kChanges[static_cast<std::size_t>(change)]; }

LeaseEvents Compare(const admin::LeaseList& before, const admin::LeaseList& after) {
  return {Differences(before.leases, after.leases), Differences(before.refused, after.refused),
          Differences(before.not_joined, after.not_joined)};
}

std::optional<LeaseForm> ParseLeaseForm(std::string_view name) {
  for (const auto& [word, form] : kForms)
    if (word == name) return form;
  return std::nullopt;
}

LeasePrinter::LeasePrinter(LeaseForm form, bool headers)
    : form_(form), headers_(headers), table_(Headers(form)) {}

std::string LeasePrinter::Whole(const admin::LeaseList& list) {
  if (form_ == LeaseForm::kJson) return Dump(admin::ToJson(list), 2);
  if (form_ == LeaseForm::kYaml) return ToYaml(admin::ToJson(list));
  if (form_ == LeaseForm::kName) {
    std::string names;
    for (const admin::LeaseRow& row : list.leases) absl::StrAppend(&names, "node/", row.node, "\n");
    return names;
  }
  for (const admin::LeaseRow& row : list.leases) Add(row, /*deleted=*/false);
  for (const lease::RefusedNode& node : list.refused) Add(node, "refused");
  for (const lease::NotJoinedNode& node : list.not_joined) Add(Unleased(node), "not-joined");
  return table_.TakeText(headers_);
}

std::string LeasePrinter::Changes(const LeaseEvents& events) {
  std::string text;
  // A line or a document each, so that a reader knows that it is complete without waiting for the
  // next.
  const auto document = [&](const Json& json) {
    if (form_ == LeaseForm::kJson) text += Dump(json, -1);
    if (form_ == LeaseForm::kYaml) absl::StrAppend(&text, "---\n", ToYaml(json));
  };
  for (const auto& [change, row] : events.leases) {
    if (is_table()) Add(row, change == Change::kDeleted);
    if (form_ == LeaseForm::kName) absl::StrAppend(&text, "node/", row.node, "\n");
    document(Document(change, "lease", admin::ToJson(row)));
  }
  const auto add_node = [&](Change change, const lease::RefusedNode& node, const char* what,
                            std::string_view state) {
    if (is_table()) Add(node, change == Change::kDeleted ? "deleted" : state);
    document(Document(change, what, ToJson(node)));
  };
  for (const auto& [change, node] : events.refusals) add_node(change, node, "refused", "refused");
  for (const auto& [change, node] : events.not_joined)
    add_node(change, Unleased(node), "notJoined", "not-joined");
  return is_table() ? table_.TakeText(/*with_headers=*/false) : text;
}

void LeasePrinter::Add(const admin::LeaseRow& row, bool deleted) {
  if (row.v4) AddHalf(row, *row.v4, deleted);
  if (row.v6) AddHalf(row, *row.v6, deleted);
}

void LeasePrinter::AddHalf(const admin::LeaseRow& row, const admin::LeaseHalf& half, bool deleted) {
  std::vector<std::string> cells{row.node, half.subnet.ToString(), Cell(half.public_ip),
                                 Cell(half.vtep_mac), deleted ? "deleted" : half.state};
  if (form_ == LeaseForm::kWide) {
    cells.insert(cells.end(), {half.vni ? absl::StrCat(*half.vni) : "", row.backend_type, row.uid,
                               deleted ? "" : half.state_sentence});
  }
  table_.Add(std::move(cells));
}

void LeasePrinter::Add(const lease::RefusedNode& node, std::string_view state) {
  std::vector<std::string> cells{node.name, "", "", "", std::string(state)};
  if (form_ == LeaseForm::kWide) cells.insert(cells.end(), {"", "", node.uid, node.reason});
  table_.Add(std::move(cells));
}

}  // namespace weft::cli
