// SPDX-License-Identifier: Apache-2.0
// The program "flanneld service VERB".
#pragma once

#include <span>
#include <string>

namespace weft::daemon {

// `words` after "service". Prints to stdout and stderr; returns the exit status.
int RunServiceCommand(std::span<const std::string> words);

}  // namespace weft::daemon
