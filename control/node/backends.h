// SPDX-License-Identifier: Apache-2.0
// Which backends a node has.
#pragma once

#include <memory>
#include <vector>

#include "control/backend/backend.h"

namespace weft::node {

// In the order in which they are opened: by net-conf's type and --dataplane, the only place that
// decides by these. Empty with alloc and without a data plane. `context` outlives them.
std::vector<std::unique_ptr<backend::Backend>> MakeBackends(const backend::Context& context);

}  // namespace weft::node
