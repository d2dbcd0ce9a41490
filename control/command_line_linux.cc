// SPDX-License-Identifier: Apache-2.0
#include "control/command_line.h"

#include <cstdlib>

namespace weft::control {

std::vector<std::string> Arguments(int argc, char** argv) {
  return {argv + (argc > 0 ? 1 : 0), argv + argc};
}

std::optional<std::string> Variable(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace weft::control
