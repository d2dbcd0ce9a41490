// SPDX-License-Identifier: Apache-2.0
// What the system's console needs before the program may use its streams.
#pragma once

namespace weft::cli {

// Once, first thing in main. Output is UTF-8 with '\n' on every system, so that a JSON document or
// a golden is the same everywhere.
void PrepareConsole();

}  // namespace weft::cli
