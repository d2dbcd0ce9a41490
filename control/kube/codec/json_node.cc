// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "control/kube/codec/json_value.h"
#include "vxlan/text/printable.h"

namespace weft::kube {
namespace {

using simdjson::dom::element;

// Absent and null are treated the same.
using Member = std::optional<element>;
bool Has(const Member& member) { return member && !member->is_null(); }

// Empty if absent; another type is reported in `problem`.
std::string_view TextOf(const Member& member, std::string_view field, std::string& problem) {
  if (!Has(member)) return {};
  const auto text = AsString(*member, field);
  if (text.ok()) return *text;
  if (problem.empty()) problem = text.status().message();
  return {};
}

void ReadAnnotations(element value, const AnnotationKeys& keys, NodeFields& fields) {
  const auto annotations = AsObject(value, "metadata.annotations");
  if (!annotations.ok()) {
    fields.problem = annotations.status().message();
    return;
  }
  for (const auto [key, text] : *annotations) {
    if (text.is_string()) {
      fields.SetAnnotation(keys, key, text.get_string().value_unsafe());
    } else if (fields.problem.empty()) {
      fields.problem =
          absl::StrCat("annotation ", Quoted(key, 100), " is ", Show(text), ", not a string");
    }
  }
}

// "2026-08-14T12:00:00Z", as an API server writes it; empty for other forms and invalid times.
std::optional<std::int64_t> SecondsOfUsualTime(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  if (text.size() != kForm.size()) return std::nullopt;
  int numbers[6] = {};  // year, month, day, hour, minute, second
  int* number = numbers;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == '0') {
      if (text[i] < '0' || text[i] > '9') return std::nullopt;
      *number = *number * 10 + (text[i] - '0');
    } else if (text[i] != kForm[i]) {
      return std::nullopt;
    } else {
      ++number;
    }
  }
  const auto [year, month, day, hour, minute, second] = numbers;
  using namespace std::chrono;
  const year_month_day date{std::chrono::year(year), std::chrono::month(unsigned(month)),
                            std::chrono::day(unsigned(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return seconds(sys_days(date).time_since_epoch()).count() + hour * 3600 + minute * 60 + second;
}

// Unix seconds; empty: not a time (RFC 3339).
std::optional<std::int64_t> SecondsOf(std::string_view text) {
  if (const auto usual = SecondsOfUsualTime(text)) return usual;
  absl::Time time;
  if (!absl::ParseTime(absl::RFC3339_full, text, &time, nullptr) ||
      time == absl::InfiniteFuture() || time == absl::InfinitePast())
    return std::nullopt;
  return absl::ToUnixSeconds(time);
}

void ReadCreated(const Member& value, NodeFields& fields) {
  const std::string_view text = TextOf(value, "metadata.creationTimestamp", fields.created_problem);
  if (text.empty()) return;
  if (const auto seconds = SecondsOf(text)) {
    fields.created = *seconds;
  } else {
    fields.created_problem =
        absl::StrCat("metadata.creationTimestamp ", Quoted(text), " is not a time (RFC 3339)");
  }
}

void ReadMetadata(simdjson::dom::object metadata, const AnnotationKeys& keys, NodeFields& fields) {
  Member name, uid, version, created, annotations;
  for (const auto [key, value] : metadata) {
    if (key == "name") {
      name = value;
    } else if (key == "uid") {
      uid = value;
    } else if (key == "resourceVersion") {
      version = value;
    } else if (key == "creationTimestamp") {
      created = value;
    } else if (key == "annotations") {
      annotations = value;
    }
  }
  fields.name = TextOf(name, "metadata.name", fields.problem);
  fields.uid = TextOf(uid, "metadata.uid", fields.problem);
  fields.resource_version = TextOf(version, "metadata.resourceVersion", fields.problem);
  ReadCreated(created, fields);
  if (Has(annotations) && fields.problem.empty()) ReadAnnotations(*annotations, keys, fields);
}

// Upstream's rule: podCIDR is used only if podCIDRs has no entry.
void ReadPodCidrs(element spec, NodeFields& fields) {
  std::string& problem = fields.pod_cidr_problem;
  const auto members = AsObject(spec, "spec");
  if (!members.ok()) {
    problem = members.status().message();
    return;
  }
  if (const auto list = Find(*members, "podCIDRs")) {
    const auto entries = AsArray(*list, "spec.podCIDRs");
    if (!entries.ok()) {
      problem = entries.status().message();
      return;
    }
    for (const element entry : *entries) {
      const std::size_t at = fields.pod_cidr_count++;
      if (at >= fields.pod_cidrs.size()) continue;
      const auto text = AsString(entry, "spec.podCIDRs entry");
      if (text.ok()) {
        fields.pod_cidrs[at] = *text;
      } else if (problem.empty()) {
        problem = text.status().message();
      }
    }
    if (fields.pod_cidr_count > 0) return;
  }
  fields.pod_cidr = TextOf(Find(*members, "podCIDR"), "spec.podCIDR", problem);
}

// A Node is readable without it: an entry that cannot be read is left out.
void ReadStatus(element status, NodeFields& fields) {
  const auto text = [](element entry, std::string_view key) {
    std::string_view value;
    return entry.at_key(key).get(value) == simdjson::SUCCESS ? value : std::string_view();
  };
  simdjson::dom::array entries;
  if (status.at_key("addresses").get(entries) == simdjson::SUCCESS) {
    for (const element entry : entries)
      fields.AddAddress(text(entry, "type"), text(entry, "address"));
  }
  if (status.at_key("conditions").get(entries) != simdjson::SUCCESS) return;
  for (const element entry : entries) {
    if (text(entry, "type") != "Ready") continue;
    fields.ready = text(entry, "status");
    fields.ready_since = SecondsOf(text(entry, "lastTransitionTime")).value_or(0);
  }
}

}  // namespace

void ReadJsonNode(element node, const AnnotationKeys& keys, NodeFields& fields) {
  fields.Clear();
  const auto object = AsObject(node, "the Node");
  if (!object.ok()) {
    fields.problem = object.status().message();
    return;
  }
  // In one pass, so that `status`, most of a Node, is skipped only once.
  Member kind, metadata, spec, status;
  for (const auto [key, value] : *object) {
    if (key == "kind") {
      kind = value;
    } else if (key == "metadata") {
      metadata = value;
    } else if (key == "spec") {
      spec = value;
    } else if (key == "status") {
      status = value;
    }
  }
  fields.kind = TextOf(kind, "kind", fields.problem);
  if (!fields.problem.empty()) return;
  if (!Has(metadata)) {
    fields.problem = "metadata is missing";
    return;
  }
  const auto members = AsObject(*metadata, "metadata");
  if (!members.ok()) {
    fields.problem = members.status().message();
    return;
  }
  ReadMetadata(*members, keys, fields);
  if (Has(spec)) ReadPodCidrs(*spec, fields);
  if (Has(status)) ReadStatus(*status, fields);
}

}  // namespace weft::kube
