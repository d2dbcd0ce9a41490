// SPDX-License-Identifier: Apache-2.0
// --hns of the verbs that look at HNS, or change it, without a daemon.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hns/api.h"

namespace CLI {
class App;
}

namespace weft::cli {

void AddHnsOption(CLI::App& parser, std::string& hns);
// "emulator:PATH"; empty: this machine's own.
absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const std::string& hns);

}  // namespace weft::cli
