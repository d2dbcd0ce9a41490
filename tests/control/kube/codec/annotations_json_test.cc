// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/objects_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(AnnotationsJson, AreAllOfTheObject) {
  const auto all = DecodeAnnotations(
      R"({"kind":"Node","metadata":{"annotations":{"b":"","a":"x\n"},"name":"n"},"spec":{}})");
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(*all, ElementsAre(Pair("a", "x\n"), Pair("b", "")));
}

TEST(AnnotationsJson, AnObjectMayHaveNone) {
  EXPECT_THAT(*DecodeAnnotations(R"({"metadata":{"name":"n"}})"), IsEmpty());
  EXPECT_THAT(*DecodeAnnotations(R"({"metadata":{"annotations":null}})"), IsEmpty());
}

TEST(AnnotationsJson, NamesWhatIsWrong) {
  const struct {
    std::string_view text, error;
  } rows[] = {
      {"{}", "the object has no metadata"},
      {"[]", "the object is an array, not an object"},
      {R"({"metadata":7})", "metadata is 7, not an object"},
      {R"({"metadata":{"annotations":[]}})", "metadata.annotations is an array, not an object"},
      {R"({"metadata":{"annotations":{"a":7}}})", "the annotation \"a\" is 7, not a string"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(DecodeAnnotations(row.text).status().message(), row.error) << row.text;
  EXPECT_FALSE(DecodeAnnotations("{").ok());
}

}  // namespace
}  // namespace weft::kube
