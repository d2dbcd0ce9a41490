// SPDX-License-Identifier: Apache-2.0
// Whether a flanneld of this node runs, for verbs whose work it would undo.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace weft::cli {

// "flanneld runs (how) and would ...: stop it first". `undoes`: what it would do.
absl::Status DaemonRuns(std::string_view how, std::string_view undoes);

// By its lock in `state_dir`, and by its answer at `admin` ("none": not requested). A folder that
// does not exist has no lock. `node_name`: that Node's flanneld only; another Node's, which answers
// at `admin`, is none.
absl::Status RefuseDaemonOf(const std::string& node_name, const std::string& state_dir,
                            const std::string& admin);

}  // namespace weft::cli
