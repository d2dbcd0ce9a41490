// SPDX-License-Identifier: Apache-2.0
#include "control/admin/endpoint.h"

namespace weft::admin {

std::string_view DefaultEndpoint() { return "/run/flannel/weft.sock"; }

std::string_view ReservedEndpoint() { return {}; }

std::string ForeignHolder(const std::string&) { return {}; }

}  // namespace weft::admin
