// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "control/cli/console.h"
#include "control/cli/flannelctl.h"
#include "control/command_line.h"

int main(int argc, char** argv) {
  weft::cli::PrepareConsole();
  weft::cli::Io io{std::cin, std::cout, std::cerr};
  return static_cast<int>(weft::cli::RunFlannelctl(weft::control::Arguments(argc, argv), io));
}
