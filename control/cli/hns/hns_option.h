// SPDX-License-Identifier: Apache-2.0
// --hns of the verbs that read or change HNS without a daemon, and the words of those that emulate
// one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "control/cli/verb.h"
#include "hns/api/api.h"
#include "hns/client.h"
#include "nlohmann/json.hpp"

namespace CLI {
class App;
}

namespace weft::cli {

void AddHnsOption(CLI::App& parser, std::string& hns);
// "emulator:PATH" of a socket; empty: this machine's own.
absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const std::string& hns);

// The network that `name` names, or several of that very name: by its name, its id, or as "hns
// list" shows it, with "_" for a blank. Empty: there is none. FailedPrecondition: several are shown
// so. `unread` and `documents` as for hns::Client::Networks.
absl::StatusOr<std::vector<hns::Network>> FindNetworks(hns::Client& client, const std::string& name,
                                                       std::vector<hns::Unread>* unread,
                                                       std::vector<std::string>* documents);

// Reports on `err` which objects a list omits, and why.
void ReportUnread(Io& io, std::string_view verb, const std::vector<hns::Unread>& unread);

// KEY=VALUE words, of commands to an emulator, as a JSON object: true, false, digits, objects and
// lists are JSON; everything else is a string, "13.3" too.
absl::StatusOr<nlohmann::json> JsonFields(std::span<const std::string> words);

}  // namespace weft::cli
