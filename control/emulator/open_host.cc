// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/open_host.h"

#include "control/emulator/remote_host.h"
#include "hns/emulator/remote/address.h"

namespace weft::emulator {

absl::StatusOr<std::unique_ptr<host::Host>> OpenHost(const std::optional<std::string>& emulator) {
  if (!emulator) return host::OpenHost();
  const absl::StatusOr<hns::emulator::Address> address = hns::emulator::ParseAddress(*emulator);
  if (!address.ok()) return address.status();
  return std::make_unique<RemoteHost>(*emulator);
}

}  // namespace weft::emulator
