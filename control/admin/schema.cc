// SPDX-License-Identifier: Apache-2.0
#include "control/admin/schema.h"

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "control/json_fields.h"

// The descriptions are found by argument-dependent lookup, so each is in its struct's own
// namespace.
namespace weft::lease {

void Fields(auto& visit, control::Is<RefusedNode> auto& node) {
  visit.Required("name", node.name);
  visit.Required("reason", node.reason);
  visit.Optional("uid", node.uid);
}

void Fields(auto& visit, control::Is<NotJoinedNode> auto& node) {
  visit.Required("name", node.node.name);
  visit.Optional("uid", node.node.uid);
  visit.Required("reason", node.reason);
}

}  // namespace weft::lease

namespace weft::admin {

using control::Json;
using control::JsonReader;
using control::JsonWriter;

void Fields(auto& visit, control::Is<LeaseHalf> auto& half) {
  visit.Required("subnet", half.subnet);
  visit.Optional("publicIP", half.public_ip);
  visit.Optional("vtepMAC", half.vtep_mac);
  visit.Optional("vni", half.vni);
  visit.Required("state", half.state);
  visit.Required("stateSentence", half.state_sentence);
  visit.Required("usable", half.usable);
  visit.OptionalTime("keptSince", half.kept_since);
}

void Fields(auto& visit, control::Is<LeaseRow> auto& row) {
  visit.Required("node", row.node);
  visit.Optional("uid", row.uid);
  visit.Required("backendType", row.backend_type);
  visit.Optional("ipv4", row.v4);
  visit.Optional("ipv6", row.v6);
}

void Fields(auto& visit, control::Is<LeaseList> auto& list) {
  visit.Required("generation", list.generation);
  visit.Required("source", list.source);
  visit.Required("leases", list.leases);
  visit.Required("refused", list.refused);
  visit.Optional("notJoined", list.not_joined);
}

void Fields(auto& visit, control::Is<Check> auto& check) {
  visit.Required("name", check.name);
  visit.Required("ok", check.ok);
  visit.Required("text", check.text);
}

void Fields(auto& visit, control::Is<OwnFacts> auto& own) {
  visit.Optional("subnet", own.subnet);
  visit.Optional("publicIP", own.public_ip);
  visit.Optional("vtepMAC", own.vtep_mac);
}

void Fields(auto& visit, control::Is<ServerStatus> auto& server) {
  visit.Required("server", server.server);
  visit.Required("inUse", server.in_use);
  visit.Required("text", server.text);
}

void Fields(auto& visit, control::Is<SourceStatus> auto& source) {
  visit.Required("description", source.description);
  visit.Required("inSync", source.in_sync);
  visit.Optional("condition", source.condition);
  visit.Optional("lastAnswerAge", source.last_answer_age);
  visit.Optional("servers", source.servers);
}

void Fields(auto& visit, control::Is<ConditionStatus> auto& condition) {
  visit.Required("subject", condition.subject);
  visit.Required("condition", condition.condition);
  visit.Required("times", condition.times);
}

void Fields(auto& visit, control::Is<LeaseExample> auto& example) {
  visit.Required("node", example.node);
  visit.Required("why", example.why);
}

void Fields(auto& visit, control::Is<LeaseCount> auto& count) {
  visit.Required("state", count.state);
  visit.Required("sentence", count.sentence);
  visit.Required("count", count.count);
  visit.Optional("examples", count.examples);
}

void Fields(auto& visit, control::Is<Reach> auto& reach) {
  visit.Required("peers", reach.peers);
  visit.Required("programmed", reach.programmed);
  visit.Optional("heard", reach.heard);
}

void Fields(auto& visit, control::Is<SinkStatus> auto& sink) {
  visit.Required("name", sink.name);
  visit.Required("desired", sink.desired);
  visit.Required("applied", sink.applied);
  visit.Required("pending", sink.pending);
}

void Fields(auto& visit, control::Is<DropExample> auto& example) {
  visit.Time("at", example.at);
  visit.Optional("outer", example.outer);
  visit.Optional("peer", example.peer);
  visit.Optional("vni", example.vni);
  visit.Optional("sourceMAC", example.source_mac);
  visit.Optional("destinationMAC", example.destination_mac);
  visit.Optional("innerSource", example.inner_source);
  visit.Optional("innerDestination", example.inner_destination);
}

void Fields(auto& visit, control::Is<VerdictCount> auto& count) {
  visit.Required("name", count.name);
  visit.Required("sentence", count.sentence);
  visit.Required("packets", count.packets);
  visit.Optional("example", count.example);
}

void Fields(auto& visit, control::Is<DirectionStatus> auto& direction) {
  visit.Required("bytes", direction.bytes);
  visit.Required("packets", direction.packets);
}

void Fields(auto& visit, control::Is<KernelCount> auto& count) {
  visit.Required("name", count.name);
  visit.Required("value", count.value);
}

void Fields(auto& visit, control::Is<TunnelStatus> auto& tunnel) {
  visit.Required("device", tunnel.device);
  visit.Required("family", tunnel.family);
  visit.Required("vni", tunnel.vni);
  visit.Required("port", tunnel.port);
  visit.Required("mtu", tunnel.mtu);
  visit.Required("toWire", tunnel.to_wire);
  visit.Required("toPods", tunnel.to_pods);
  visit.Required("icmpErrors", tunnel.icmp_errors);
  visit.Required("kernel", tunnel.kernel);
  visit.Optional("workers", tunnel.workers);
  visit.Optional("superframes", tunnel.superframes);
  visit.Optional("superframesWhole", tunnel.superframes_whole);
  visit.Optional("peerCheck", tunnel.peer_check);
  visit.Optional("strictWouldDrop", tunnel.strict_would_drop);
}

void Fields(auto& visit, control::Is<IcmpErrors> auto& errors) {
  visit.Required("count", errors.count);
  visit.Required("type", errors.type);
  visit.Required("code", errors.code);
  visit.Required("from", errors.from);
  visit.Time("at", errors.at);
}

void Fields(auto& visit, control::Is<PeerStatus> auto& peer) {
  visit.Required("node", peer.node);
  visit.Required("device", peer.device);
  visit.Optional("sentPackets", peer.sent_packets);
  visit.Optional("sentBytes", peer.sent_bytes);
  visit.Optional("receivedPackets", peer.received_packets);
  visit.Optional("receivedBytes", peer.received_bytes);
  visit.Optional("heard", peer.heard);
  visit.Optional("pathMTU", peer.path_mtu);
  visit.Optional("sentWithoutDF", peer.sent_without_df);
  visit.Optional("otherSource", peer.other_source);
  visit.Optional("otherSourcePackets", peer.other_source_packets);
  visit.Optional("icmpErrors", peer.icmp_errors);
}

void Fields(auto& visit, control::Is<Restored> auto& restored) {
  visit.Required("count", restored.count);
  visit.Time("last", restored.last);
  visit.Required("what", restored.what);
}

void Fields(auto& visit, control::Is<HnsStatus> auto& hns) {
  visit.Required("network", hns.network);
  visit.Required("state", hns.state);
  visit.Required("text", hns.text);
  visit.Optional("id", hns.id);
  visit.Optional("port", hns.port);
  visit.Optional("managementIP", hns.management_ip);
  visit.Optional("routerMAC", hns.router_mac);
  visit.Required("calls", hns.calls);
  visit.Required("modifyingCalls", hns.modifying_calls);
  visit.Required("notes", hns.notes);
  visit.Optional("restored", hns.restored);
}

void Fields(auto& visit, control::Is<Status> auto& status) {
  visit.Required("version", status.version);
  visit.Required("node", status.node);
  visit.Required("pid", status.pid);
  visit.Time("started", status.started);
  visit.Required("backend", status.backend);
  visit.Required("dataplane", status.dataplane);
  visit.Required("ready", status.ready);
  visit.Required("checks", status.checks);
  visit.Required("interface", status.interface_name);
  visit.Required("mtu", status.mtu);
  visit.Optional("ipv4", status.v4);
  visit.Optional("ipv6", status.v6);
  visit.Optional("sourceVIP", status.source_vip);
  visit.Required("source", status.source);
  visit.Required("conditions", status.conditions);
  visit.Optional("notes", status.notes);
  visit.Required("leases", status.leases);
  visit.Required("refusedNodes", status.refused_nodes);
  visit.Optional("notJoinedNodes", status.not_joined_nodes);
  visit.Optional("reach", status.reach);
  visit.Required("sinks", status.sinks);
  visit.Required("tunnels", status.tunnels);
  visit.Optional("hns", status.hns);
  visit.Required("peers", status.peers);
}

void Fields(auto& visit, control::Is<PlanCall> auto& call) {
  visit.Required("what", call.what);
  visit.Optional("document", call.document);
}

void Fields(auto& visit, control::Is<Plan> auto& plan) {
  visit.Required("network", plan.network);
  visit.Optional("refused", plan.refused);
  visit.Required("differences", plan.differences);
  visit.Required("calls", plan.calls);
  visit.Required("repaired", plan.repaired);
  visit.Required("left", plan.left);
  visit.Optional("done", plan.done);
  visit.Optional("causes", plan.causes);
}

namespace {

// The number at its end is the document's.
constexpr std::string_view kVersionPrefix = "weft/v";

constexpr std::string_view kPlanKind = "Plan";
constexpr std::string_view kLeaseListKind = "LeaseList";
constexpr std::string_view kStatusKind = "Status";

Json Document(std::string_view kind, const auto& value) {
  Json json = {{"apiVersion", kApiVersion}, {"kind", kind}};
  json.update(JsonWriter::Encode(value));
  return json;
}

absl::Status Expect(const Json& json, const char* field, std::string_view expected) {
  const auto found = json.find(field);
  if (found == json.end() || !found->is_string())
    return absl::InvalidArgumentError(absl::StrCat(field, " is missing or not a string"));
  const auto& text = found->get_ref<const std::string&>();
  if (text == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is \"", text, "\"; this program reads \"", expected, "\""));
}

absl::Status ExpectVersion(const Json& json) {
  absl::Status status = Expect(json, "apiVersion", kApiVersion);
  const Json text = json.value("apiVersion", Json());
  if (status.ok() || !text.is_string()) return status;
  const auto number = [](std::string_view version) {
    int value = 0;
    const bool known = absl::ConsumePrefix(&version, kVersionPrefix) &&
                       absl::SimpleAtoi(version, &value) && value > 0;
    return known ? value : 0;
  };
  const int theirs = number(text.get_ref<const std::string&>());
  if (theirs == 0) return status;
  return absl::FailedPreconditionError(
      absl::StrCat(status.message(), theirs < number(kApiVersion)
                                         ? ": flanneld is the older one; upgrade it and restart it"
                                         : ": flannelctl is the older one; upgrade it"));
}

template <class T>
absl::StatusOr<T> ParseDocument(std::string_view kind, std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return absl::InvalidArgumentError("the document is not JSON");
  T value;
  JsonReader reader(json, "");
  if (!reader.status().ok()) return reader.status();
  if (absl::Status status = ExpectVersion(json); !status.ok()) return status;
  if (absl::Status status = Expect(json, "kind", kind); !status.ok()) return status;
  Fields(reader, value);
  if (!reader.status().ok()) return reader.status();
  return value;
}

}  // namespace

nlohmann::ordered_json ToJson(const LeaseList& list) { return Document(kLeaseListKind, list); }
nlohmann::ordered_json ToJson(const LeaseRow& row) { return JsonWriter::Encode(row); }
nlohmann::ordered_json ToJson(const Status& status) { return Document(kStatusKind, status); }

nlohmann::ordered_json ToJson(const Plan& plan) { return Document(kPlanKind, plan); }

absl::StatusOr<Plan> ParsePlan(std::string_view json) {
  return ParseDocument<Plan>(kPlanKind, json);
}
absl::StatusOr<LeaseList> ParseLeaseList(std::string_view json) {
  return ParseDocument<LeaseList>(kLeaseListKind, json);
}
absl::StatusOr<Status> ParseStatus(std::string_view json) {
  return ParseDocument<Status>(kStatusKind, json);
}

}  // namespace weft::admin
