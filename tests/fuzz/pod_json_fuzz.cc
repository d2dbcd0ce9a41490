// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Pod: refused in one line, or a node's name that a Pod made with that name gives
// again. And as the claims of a token.
#include <cstdint>
#include <string>

#include "absl/strings/escaping.h"
#include "control/kube/codec/objects_json.h"
#include "nlohmann/json.hpp"
#include "tests/fuzz/input.h"
#include "tests/fuzz/lease_promises.h"

namespace {

void CheckExpiry(const std::string& claims) {
  const auto expiry =
      weft::kube::DecodeTokenExpiry("e30." + absl::WebSafeBase64Escape(claims) + ".c2ln");
  if (!expiry) return;
  const auto json = nlohmann::json::parse(claims, nullptr, /*allow_exceptions=*/false);
  weft::fuzz::Require(json.is_object() && json.contains("exp") && json["exp"] == *expiry,
                      "the claim of another parser");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weft::fuzz::Require;
  const std::string text(data, data + size);  // as its caller has it: never null
  CheckExpiry(text);
  const auto name = weft::kube::DecodePodNodeName(text);
  if (!name.ok()) {
    weft::fuzz::CheckMessage(name.status().message());
    return 0;
  }
  Require(!name->empty(), "a name");
  const nlohmann::json pod = {{"spec", {{"nodeName", *name}}}};
  const auto again = weft::kube::DecodePodNodeName(pod.dump());
  Require(again.ok() && *again == *name, "a Pod with that name");
  return 0;
}
