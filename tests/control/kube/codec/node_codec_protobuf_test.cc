// SPDX-License-Identifier: Apache-2.0
// Nodes in protobuf that are written otherwise than API servers write them.
#include "control/kube/codec/node_codec_protobuf.h"

#include <protozero/pbf_writer.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft::kube {
namespace {

using ::testing::HasSubstr;

// `key` or a value of more than 127 bytes has a length of two.
std::string Entry(std::string_view key, std::string_view value) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_string(1, key.data(), key.size());
  writer.add_string(2, value.data(), value.size());
  return bytes;
}

std::string NodeWith(const std::string& annotation) {
  std::string meta, node;
  protozero::pbf_writer(meta).add_message(12, annotation);
  protozero::pbf_writer(node).add_message(1, meta);
  return node;
}

constexpr std::string_view kKey = "flannel.alpha.coreos.com/backend-type";

TEST(NodeProtobuf, AnAnnotationHoweverItsFieldsAreWritten) {
  const std::string key(kKey), usual = Entry(kKey, "vxlan");
  const std::string key_alone = usual.substr(0, 2 + kKey.size());
  const std::string value_alone = usual.substr(2 + kKey.size());
  const struct {
    const char* description;
    std::string entry;
    std::string_view value;
  } rows[] = {
      {"as usual", usual, "vxlan"},
      {"the value first", value_alone + key_alone, "vxlan"},
      {"an unknown field behind", usual + "\x18\x07", "vxlan"},
      {"an unknown field in front", "\x18\x07" + usual, "vxlan"},
      {"the key twice, the last counts", Entry("other", "vxlan") + key_alone, "vxlan"},
      {"the value twice, the last counts", Entry(kKey, "alloc") + value_alone, "vxlan"},
      {"a key without a value", key_alone, ""},
      {"a value without a key", value_alone, ""},
      {"an empty value", Entry(kKey, ""), ""},
      {"nothing", "", ""},
      {"a longer length than needed", std::string("\x0a\xa5\x00", 3) + key + value_alone, "vxlan"},
      {"a value's longer length, as long as what is behind it",
       key_alone + std::string("\x12\x85\x00", 3) + "vxlan\x1a\x7d" + std::string(125, 'x'),
       "vxlan"},
      {"another field in the value's place", key_alone + "\x1a\x05vxlan", ""},
      {"another field in the key's place", "\x1a" + usual.substr(1), ""},
      {"another key of 127 bytes", Entry(std::string(127, 'k'), "vxlan"), ""},
      {"another key of 128 bytes", Entry(std::string(128, 'k'), "vxlan"), ""},
  };
  const AnnotationKeys keys = *AnnotationKeys::Of("flannel.alpha.coreos.com");
  for (const auto& [description, entry, value] : rows) {
    SCOPED_TRACE(description);
    NodeFields fields;
    const std::string node = NodeWith(entry);
    ASSERT_TRUE(DecodeProtobufNode(node, keys, fields).ok());
    EXPECT_EQ(fields.backend_type, value);
  }
}

TEST(NodeProtobuf, ValuesOfEveryLength) {
  const AnnotationKeys keys = *AnnotationKeys::Of("flannel.alpha.coreos.com");
  for (std::size_t size = 0; size < 400; ++size) {
    const std::string value(size, 'v'), node = NodeWith(Entry(kKey, value));
    NodeFields fields;
    ASSERT_TRUE(DecodeProtobufNode(node, keys, fields).ok());
    EXPECT_EQ(fields.backend_type, value) << size;
  }
}

TEST(NodeProtobuf, AnAnnotationThatIsBroken) {
  const std::string usual = Entry(kKey, "vxlan");
  const AnnotationKeys keys = *AnnotationKeys::Of("flannel.alpha.coreos.com");
  const std::string endless_length = "\x0a\x80" + std::string(128, 'k') + "\x12\x05vxlan";
  const std::string broken[] = {
      endless_length,
      usual.substr(0, usual.size() - 1),  // a value cut short
      usual.substr(0, 10),                // a key cut short
      usual + "\x12",                     // a key of a field without its value
      "\x0a\x7f" + usual,                 // a length beyond the end
      std::string("\x02\x00", 2),         // field 0
      "\x0b",                             // a group
  };
  for (const std::string& entry : broken) {
    NodeFields fields;
    const std::string node = NodeWith(entry);
    EXPECT_THAT(DecodeProtobufNode(node, keys, fields).message(), HasSubstr("broken protobuf"))
        << ::testing::PrintToString(entry);
  }
}

// What follows would be a broken field of its own.
TEST(NodeProtobuf, AFieldsNumbersEndWithTheMessageThatHoldsThem) {
  for (const std::string entry : {"\x12", "\x18\x82"}) {
    std::string meta, node;
    protozero::pbf_writer(meta).add_message(12, entry);
    protozero::pbf_writer(node).add_message(1, meta + std::string(8, '\0'));
    NodeFields fields;
    EXPECT_EQ(DecodeProtobufNode(node, {}, fields).message(),
              "the Node is broken protobuf: end of buffer exception");
  }
}

TEST(NodeProtobuf, OtherTextsOfTheStatusAreNotRead) {
  std::string status, address, node;
  protozero::pbf_writer(address).add_string(1, "InternalIP");
  protozero::pbf_writer(status).add_string(3, "Running");
  protozero::pbf_writer(status).add_message(5, address);
  protozero::pbf_writer(node).add_message(3, status);
  NodeFields fields;
  ASSERT_TRUE(DecodeProtobufNode(node, {}, fields).ok());
  EXPECT_EQ(fields.address_count, 1u);
}

}  // namespace
}  // namespace weft::kube
