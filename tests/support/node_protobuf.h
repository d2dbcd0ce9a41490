// SPDX-License-Identifier: Apache-2.0
// Nodes, lists, watch frames and a Status in protobuf, as the API server writes them. The field
// numbers are those of the released .proto files (real ones are frozen), repeated here: this shares
// nothing with the decoder.
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/node_facts.h"

namespace weft::testing {

// k8s.io/api/core/v1 Node.
inline std::string NodeProtobuf(const NodeFacts& node) {
  using protozero::pbf_writer;
  std::string text;
  pbf_writer writer(text);
  {
    pbf_writer metadata(writer, 1);
    metadata.add_string(1, node.name);
    metadata.add_string(2, "");  // generateName, namespace, selfLink: always written
    metadata.add_string(3, "");
    metadata.add_string(4, "");
    metadata.add_string(5, node.uid);
    metadata.add_string(6, node.version);
    metadata.add_int64(7, 0);
    {
      pbf_writer created(metadata, 8);
      if (node.created != 0) {
        created.add_int64(1, node.created);
        created.add_int32(2, 0);
      }
    }
    if (node.images > 0) {
      for (const char* label : {"arch", "hostname", "os"}) {
        pbf_writer entry(metadata, 11);
        entry.add_string(1, std::string("kubernetes.io/") + label);
        entry.add_string(2, label);
      }
    }
    for (const auto& [key, value] : node.annotations) {
      pbf_writer entry(metadata, 12);
      entry.add_string(1, key);
      entry.add_string(2, value);
    }
    for (int i = 0; i < (node.images > 0 ? 3 : 0); ++i) {
      pbf_writer managed(metadata, 17);
      managed.add_string(1, "kubelet");
      managed.add_string(2, "Update");
      managed.add_string(3, "v1");
      pbf_writer(managed, 4).add_int64(1, node.created);
      managed.add_string(6, "FieldsV1");
      pbf_writer(managed, 7).add_bytes(1, ManagedFieldsText("kubelet"));
    }
  }
  {
    pbf_writer spec(writer, 2);
    spec.add_string(1, node.pod_cidr);
    spec.add_string(3, "");
    spec.add_bool(4, false);
    for (const std::string& cidr : node.pod_cidrs) spec.add_string(7, cidr);
  }
  {
    pbf_writer status(writer, 3);
    status.add_string(3, "");
    for (const auto& [type, value, since] : node.conditions) {
      pbf_writer condition(status, 4);
      condition.add_string(1, type);
      condition.add_string(2, value);
      pbf_writer(condition, 3).add_int64(1, since + 60);
      pbf_writer(condition, 4).add_int64(1, since);
    }
    for (const auto& [type, address] : node.addresses) {
      pbf_writer entry(status, 5);
      entry.add_string(1, type);
      entry.add_string(2, address);
    }
    for (int i = 0; i < node.images; ++i) {
      pbf_writer image(status, 8);
      const std::string number = std::to_string(i);
      image.add_string(1, "registry.example.com/some/folder/image-" + number +
                              "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef01234567");
      image.add_string(1, "registry.example.com/some/folder/image-" + number + ":v1.2.3");
      image.add_int64(2, 12'345'678 + i);
    }
  }
  return text;
}

// The four bytes and runtime.Unknown around every body, and around the object of a watch event.
inline std::string ProtobufEnvelope(std::string_view kind, std::string_view raw) {
  std::string text;
  protozero::pbf_writer writer(text);
  {
    protozero::pbf_writer type(writer, 1);
    type.add_string(1, "v1");
    type.add_string(2, kind.data(), kind.size());
  }
  writer.add_bytes(2, raw.data(), raw.size());
  writer.add_string(3, "");  // contentEncoding, contentType
  writer.add_string(4, "");
  return std::string("k8s\0", 4) + text;
}

inline std::string ListMetaProtobuf(std::string_view version, std::string_view token) {
  std::string text;
  protozero::pbf_writer writer(text);
  writer.add_string(1, "");
  writer.add_string(2, version.data(), version.size());
  writer.add_string(3, token.data(), token.size());
  return text;
}

// The body of an answer to a list.
inline std::string NodeListProtobuf(const std::vector<NodeFacts>& nodes, std::string_view version,
                                    std::string_view token = "") {
  std::string list;
  protozero::pbf_writer writer(list);
  writer.add_message(1, ListMetaProtobuf(version, token));
  for (const NodeFacts& node : nodes) writer.add_message(2, NodeProtobuf(node));
  return ProtobufEnvelope("NodeList", list);
}

// One frame of a watch around a whole body.
inline std::string WatchFrameProtobuf(std::string_view type, std::string_view body) {
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_string(1, type.data(), type.size());
  protozero::pbf_writer(writer, 2).add_bytes(1, body.data(), body.size());
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) {
    frame += static_cast<char>(static_cast<std::uint32_t>(event.size()) >> shift & 0xff);
  }
  return frame + event;
}

inline std::string NodeEventProtobuf(std::string_view type, const NodeFacts& node) {
  return WatchFrameProtobuf(type, ProtobufEnvelope("Node", NodeProtobuf(node)));
}

inline std::string BookmarkProtobuf(std::string_view version, bool initial_events_end) {
  NodeFacts node("");
  node.version = version;
  if (initial_events_end) node.ForeignAnnotation("k8s.io/initial-events-end", "true");
  return NodeEventProtobuf("BOOKMARK", node);
}

// The body of an answer that is a Status.
inline std::string StatusProtobuf(const StatusFacts& status) {
  std::string text;
  protozero::pbf_writer writer(text);
  writer.add_message(1, ListMetaProtobuf("", ""));
  writer.add_string(2, "Failure");
  writer.add_string(3, status.message);
  writer.add_string(4, status.reason);
  if (status.retry_after != 0 || !status.cause_reason.empty() || !status.cause_message.empty()) {
    protozero::pbf_writer details(writer, 5);
    details.add_string(3, "nodes");
    {
      protozero::pbf_writer cause(details, 4);
      cause.add_string(1, status.cause_reason);
      cause.add_string(2, status.cause_message);
    }
    details.add_int32(5, status.retry_after);
  }
  writer.add_int32(6, status.code);
  return ProtobufEnvelope("Status", text);
}

inline std::string ErrorEventProtobuf(const StatusFacts& status) {
  return WatchFrameProtobuf("ERROR", StatusProtobuf(status));
}

}  // namespace weft::testing
