// SPDX-License-Identifier: Apache-2.0
#include "control/admin/endpoint.h"

namespace weft::admin {

std::string_view DefaultEndpoint() { return R"(\\.\pipe\weft)"; }

}  // namespace weft::admin
