// SPDX-License-Identifier: Apache-2.0
// A verb of flannelctl, and its streams.
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

// Scripts depend on these values.
enum class ExitCode : int {
  kOk = 0,
  kFinding = 1,   // an answer with a finding: not ready, the frame is dropped
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
  // Adds the verb's options and examples to its own parser and returns the action to run once they
  // are parsed. The action does not outlive the parser.
  Action (*add)(CLI::App& parser);
};

// Writes "flannelctl VERB: MESSAGE" to `err`.
ExitCode Fail(Io& io, std::string_view verb, const absl::Status& status);

}  // namespace weft::cli
