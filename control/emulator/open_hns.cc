// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/open_hns.h"

#include <utility>
#include <vector>

#include "hns/api/renewed_api.h"
#include "hns/emulator/emulator.h"
#include "hns/emulator/remote/remote_api.h"
#include "hns/emulator/simple_host.h"
#include "hns/emulator/world_file.h"

namespace weft::emulator {
namespace {

using hns::emulator::SimpleHost;

// With all that outlives the emulator.
struct FileWorld {
  FileWorld(const std::string& path, std::vector<SimpleHost::Adapter> adapters)
      : host(std::move(adapters)), file(path) {}

  hns::emulator::SystemClock clock;
  SimpleHost host;
  hns::emulator::WorldFile file;
  hns::emulator::Emulator hns{clock, host};
};

absl::StatusOr<std::vector<SimpleHost::Adapter>> AdaptersOf(host::Host& host) {
  const absl::StatusOr<std::vector<host::Adapter>> adapters = host.Adapters();
  if (!adapters.ok()) return adapters.status();
  std::vector<SimpleHost::Adapter> nics;
  for (const host::Adapter& adapter : *adapters) {
    if (adapter.loopback) continue;
    SimpleHost::Adapter nic{adapter.name, {}, /*usable=*/true};
    for (const host::AssignedAddress& assigned : adapter.addresses)
      nic.addresses.push_back(assigned.address);
    nics.push_back(std::move(nic));
  }
  return nics;
}

}  // namespace

absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const std::string& path, host::Host& host) {
  if (path.starts_with("tcp:") || path.starts_with("unix:"))
    return std::make_shared<hns::RenewedApi>(
        [path] { return std::make_unique<hns::emulator::RemoteApi>(path); });
  absl::StatusOr<std::vector<SimpleHost::Adapter>> adapters = AdaptersOf(host);
  if (!adapters.ok()) return adapters.status();
  const auto world = std::make_shared<FileWorld>(path, *std::move(adapters));
  if (absl::Status status = world->hns.KeepIn(&world->file); !status.ok()) return status;
  return std::shared_ptr<hns::Api>(world, &world->hns);
}

}  // namespace weft::emulator
