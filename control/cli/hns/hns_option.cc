// SPDX-License-Identifier: Apache-2.0
#include "control/cli/hns/hns_option.h"

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "control/config/options.h"
#include "control/emulator/remote/open_hns.h"

namespace weft::cli {

void AddHnsOption(CLI::App& parser, std::string& hns) {
  parser.add_option("--hns", hns, "An emulator in place of this machine's own HNS")
      ->type_name("emulator:PATH")
      ->check([](const std::string& text) {
        return config::EmulatorPath(text) ? "" : text + " is not understood; write emulator:PATH";
      });
}

absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const std::string& hns) {
  return emulator::OpenHns(config::EmulatorPath(hns));
}

void ReportUnread(Io& io, std::string_view verb, const std::vector<hns::Unread>& unread) {
  for (const hns::Unread& each : unread)
    io.err << "flannelctl " << verb << ": omitted: " << each.why << "\n";
}

}  // namespace weft::cli
