// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "control/cli/console.h"
#include "control/cli/flannelctl.h"

int main(int argc, char** argv) {
  weft::cli::PrepareConsole();
  weft::cli::Io io{std::cin, std::cout, std::cerr};
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(weft::cli::RunFlannelctl(std::move(arguments), io));
}
