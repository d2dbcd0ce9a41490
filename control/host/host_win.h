// SPDX-License-Identifier: Apache-2.0
// The Windows host over a table of functions; OpenHost() passes the system's.
#pragma once

#include <memory>

#include "control/host/firewall_win.h"
#include "control/host/host.h"
#include "control/host/ip_helper_win.h"

namespace weft::host {

std::unique_ptr<Host> MakeWindowsHost(const IpHelper& helper, FirewallCom firewall);

}  // namespace weft::host
