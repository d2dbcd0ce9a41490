// SPDX-License-Identifier: Apache-2.0
// The files without which there is no Daemon: net-conf and the kubeconfig. At a node's first start
// they may come after flanneld, in any order.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "control/config/options.h"
#include "control/daemon/event_loop.h"

namespace weft::daemon {

// The files of `options` that do not exist, or are empty because they are being written: the first
// of them as a sentence; empty: all exist.
std::string MissingFile(const config::Options& options);

// Calls `read` once no file is missing, and returns its result. Until then it runs `loop`, answers
// /healthz and /readyz, and `flannelctl status` and `wait`, and logs what it waits for. A wrong
// file is an error: at once, or, if it was waited for, when it stays wrong for two seconds, because
// it may be half written. Cancelled: the loop was stopped meanwhile.
absl::Status ReadAwaitedFiles(EventLoop& loop, const config::Options& options,
                              const std::function<absl::Status()>& read);

}  // namespace weft::daemon
