// SPDX-License-Identifier: Apache-2.0
// The part of Linux' user numbers that decides whether a file is trusted.
#pragma once

#include <cstdint>
#include <string_view>

#include "control/own_files.h"

namespace weft::control {

// Whether user 65534 ("nobody") stands for users that have no number here, and is no user itself:
// this user namespace, with `uid_map` (user_namespaces(7)), has no such user, or the file lies on
// NFS. `file_system`: statfs's f_type.
bool IsNobodyUnknown(std::string_view uid_map, std::int64_t file_system);

}  // namespace weft::control
