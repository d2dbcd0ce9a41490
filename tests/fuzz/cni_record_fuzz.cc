// SPDX-License-Identifier: Apache-2.0
// Any bytes as cni.json of --state-dir: refused with a cause, or a record that survives being
// written and names only files that containerd may read.
#include <cstdint>
#include <string_view>

#include "control/cni/installed_config.h"
#include "tests/fuzz/input.h"

using weft::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto files = weft::cni::ParseConfigRecord(text);
  if (!files.ok()) {
    Require(!files.status().message().empty(), "a cause");
    return 0;
  }
  for (const weft::cni::ConfigFile& each : *files) {
    const std::string_view path = each.path;
    Require(path.ends_with(".conf") || path.ends_with(".conflist") || path.ends_with(".json"),
            "a CNI configuration");
  }
  const auto again = weft::cni::ParseConfigRecord(weft::cni::ConfigRecordText(*files));
  Require(again.ok() && *again == *files, "it is read back");
  return 0;
}
