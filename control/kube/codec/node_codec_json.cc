// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/node_codec_json.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/kube/codec/json_value.h"
#include "control/kube/codec/node_fields.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

using simdjson::dom::element;

std::string_view WithoutBom(std::string_view text) {
  constexpr std::string_view kBom = "\xef\xbb\xbf";
  if (absl::StartsWith(text, kBom)) text.remove_prefix(kBom.size());
  return text;
}

absl::StatusOr<element> Parse(simdjson::dom::parser& parser, std::string_view text) {
  if (absl::StartsWith(text, "\xff\xfe") || absl::StartsWith(text, "\xfe\xff")) {
    return absl::InvalidArgumentError(
        "it is UTF-16, as PowerShell 5 writes with \">\": write UTF-8, for instance with | "
        "Set-Content -Encoding utf8");
  }
  if (text.empty()) return absl::InvalidArgumentError("it is empty");
  element root;
  const auto error = parser.parse(text.data(), text.size()).get(root);
  if (error == simdjson::SUCCESS) return root;
  const auto byte = FindJsonError(text);
  if (!byte)
    return absl::InvalidArgumentError(absl::StrCat("not JSON: ", simdjson::error_message(error)));
  return absl::InvalidArgumentError(
      absl::StrCat(LineAndColumn(text, *byte), ": not JSON at ",
                   Quoted(text.substr(std::min(*byte, text.size()), 20))));
}

// Uses the last Node of each name; an earlier one makes the name refused as well.
DecodedNodes Collect(std::vector<DecodedNode> decoded) {
  using Kind = DecodedNode::Kind;
  absl::flat_hash_map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < decoded.size(); ++i) last[decoded[i].lease.node.name] = i;

  DecodedNodes nodes;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    const std::string& name = decoded[i].lease.node.name;
    const std::size_t winner = last[name];
    if (winner != i && decoded[winner].kind != Kind::kRefused) {
      nodes.refused.push_back({name,
                               "the name occurs more than once in the list; the last one is used",
                               decoded[i].lease.node.uid});
    }
  }
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    DecodedNode& node = decoded[i];
    if (last[node.lease.node.name] != i) continue;
    if (node.own) nodes.own = std::move(node.own);
    if (node.kind == Kind::kNotManaged) {
      ++nodes.not_managed;
      nodes.not_joined.push_back({std::move(node.lease.node), std::move(node.refusal)});
      continue;
    }
    if (!node.refusal.empty())
      nodes.refused.push_back(
          {node.lease.node.name, std::move(node.refusal), node.lease.node.uid, node.lease.unread});
    if (node.kind == Kind::kLease) nodes.leases.push_back(std::move(node.lease));
  }
  return nodes;
}

// The list's entries; a single Node is a list of one.
absl::StatusOr<std::vector<element>> Entries(element root) {
  std::vector<element> entries;
  const auto take = [&entries](simdjson::dom::array array) {
    for (const element entry : array) entries.push_back(entry);
  };
  if (root.is_array()) {
    take(root.get_array().value_unsafe());
    return entries;
  }
  const auto object = AsObject(root, "the text");
  if (!object.ok()) return object.status();

  element items;
  if (object->at_key("items").get(items) != simdjson::SUCCESS) {
    const auto kind = Find(*object, "kind");
    const bool is_node = kind ? Show(*kind) == "\"Node\"" : Find(*object, "metadata").has_value();
    if (!is_node) {
      return absl::InvalidArgumentError(
          absl::StrCat("it is not a list of Nodes: no \"items\"",
                       kind ? ", and kind is " + Show(*kind) : std::string(),
                       "; write the output of: kubectl get nodes -o json"));
    }
    entries.push_back(root);
    return entries;
  }
  if (items.is_null()) return entries;
  const auto array = AsArray(items, "items");
  if (!array.ok()) return array.status();
  const auto metadata = ObjectMember(*object, "metadata", "metadata");
  if (!metadata.ok()) return metadata.status();
  if (*metadata) {
    const auto next = StringMember(**metadata, "continue", "metadata.continue");
    if (!next.ok()) return next.status();
    if (!next->empty()) {
      return absl::InvalidArgumentError(
          "it is one page of a longer list (metadata.continue is set): the other nodes would be "
          "lost; write the whole list");
    }
  }
  take(*array);
  return entries;
}

}  // namespace

NodeJsonCodec::NodeJsonCodec(AnnotationKeys keys, std::string own_node_name)
    : reader_(std::move(keys), std::move(own_node_name)) {}

absl::StatusOr<DecodedNodes> NodeJsonCodec::DecodeNodeList(std::string_view text) const {
  simdjson::dom::parser parser;
  const auto root = Parse(parser, WithoutBom(text));
  if (!root.ok()) return root.status();
  const auto entries = Entries(*root);
  if (!entries.ok()) return entries.status();
  std::vector<DecodedNode> decoded(entries->size());
  NodeFields fields;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    ReadJsonNode((*entries)[i], reader_.keys(), fields);
    reader_.Read(fields, decoded[i]);
    std::string& name = decoded[i].lease.node.name;
    if (name.empty()) name = absl::StrCat("#", i);
  }
  return Collect(std::move(decoded));
}

}  // namespace weft::kube
