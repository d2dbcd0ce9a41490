// SPDX-License-Identifier: Apache-2.0
#include "control/cli/console.h"

namespace weft::cli {

void PrepareConsole() {}

}  // namespace weft::cli
