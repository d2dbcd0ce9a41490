// SPDX-License-Identifier: Apache-2.0
#include "control/cli/host_option.h"

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "control/config/options.h"

namespace weft::cli {

void AddHostOption(CLI::App& parser, std::string& host) {
  parser
      .add_option("--host", host,
                  "An emulated machine in place of this one, as flanneld was given with --host")
      ->type_name("emulator:ADDRESS")
      ->check([](const std::string& text) {
        return config::EmulatorPath(text) ? ""
                                          : text + " is not understood; write emulator:ADDRESS";
      });
}

}  // namespace weft::cli
