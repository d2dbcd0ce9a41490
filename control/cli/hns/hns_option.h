// SPDX-License-Identifier: Apache-2.0
// --hns of the verbs that read or change HNS without a daemon.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "control/cli/verb.h"
#include "hns/api/api.h"
#include "hns/client.h"

namespace CLI {
class App;
}

namespace weft::cli {

void AddHnsOption(CLI::App& parser, std::string& hns);
// "emulator:PATH" of a socket; empty: this machine's own.
absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const std::string& hns);

// Reports on `err` which objects a list omits, and why.
void ReportUnread(Io& io, std::string_view verb, const std::vector<hns::Unread>& unread);

}  // namespace weft::cli
