// SPDX-License-Identifier: Apache-2.0
#include "control/backend/userspace/superframes.h"

namespace weft::backend {

std::unique_ptr<Superframes> OpenSuperframes(const SuperframesConfig&) { return nullptr; }

}  // namespace weft::backend
