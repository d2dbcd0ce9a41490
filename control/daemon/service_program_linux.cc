// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "control/daemon/service_program.h"

namespace weft::daemon {

int RunServiceCommand(std::span<const std::string>) {
  std::fputs(
      "flanneld: service is for Windows; on Linux use the systemd unit flanneld.service: systemctl "
      "enable --now flanneld\n",
      stderr);
  return 2;
}

}  // namespace weft::daemon
