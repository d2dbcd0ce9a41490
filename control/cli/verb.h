// SPDX-License-Identifier: Apache-2.0
// What a verb of flannelctl is, and what it may use of the outside.
#pragma once

#include <functional>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace weft::cli {

// A promise to scripts.
enum class ExitCode : int {
  kOk = 0,
  kFinding = 1,   // an answer, and a bad one: not ready, the frame is dropped
  kUnusable = 2,  // no answer: wrong usage, unreadable input, no daemon
};

// Data goes to `out`, everything that is not data to `err`. Nothing is coloured.
struct Io {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

using Action = std::function<ExitCode(Io&)>;

struct Verb {
  std::string_view name;
  std::string_view summary;  // one line
  // Adds the verb's options and examples to its own parser and returns what is to be done once they
  // are parsed. The action does not outlive the parser.
  Action (*add)(CLI::App& parser);
};

// Writes "flannelctl VERB: MESSAGE" to `err`.
ExitCode Fail(Io& io, std::string_view verb, const absl::Status& status);

}  // namespace weft::cli
