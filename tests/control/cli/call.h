// SPDX-License-Identifier: Apache-2.0
// flannelctl called as a function.
#pragma once

#include <string>
#include <vector>

namespace weft::cli {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

Outcome Call(std::vector<std::string> arguments, const std::string& input = "");

// What `kubectl get nodes -o json` prints for SampleNodes: win-1, linux-1 (two families), linux-2
// (without MAC), and "broken".
std::string SampleNodes();

}  // namespace weft::cli
