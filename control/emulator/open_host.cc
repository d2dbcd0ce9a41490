// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/open_host.h"

#include "control/emulator/open_hns.h"
#include "control/emulator/remote_host.h"
#include "hns/emulator/remote/address.h"

namespace weft::emulator {

absl::StatusOr<std::unique_ptr<host::Host>> OpenHost(const std::string& option) {
  if (option.empty()) return host::OpenHost();
  const std::string path = option.substr(kEmulatorPrefix.size());
  const absl::StatusOr<hns::emulator::Address> address = hns::emulator::ParseAddress(path);
  if (!address.ok()) return address.status();
  return std::make_unique<RemoteHost>(path);
}

}  // namespace weft::emulator
