// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/open_hns.h"

#include <string>
#include <utility>
#include <vector>

#include "hns/emulator/emulator.h"
#include "hns/emulator/remote/remote_api.h"
#include "hns/emulator/simple_host.h"
#include "hns/emulator/world_file.h"
#include "hns/open_api.h"

namespace weft::daemon {
namespace {

namespace emulator = hns::emulator;

// An emulator with all that outlives it.
struct World {
  World(std::vector<emulator::SimpleHost::Adapter> adapters, const std::string& path)
      : host(std::move(adapters)), file(path) {}

  emulator::SystemClock clock;
  emulator::SimpleHost host;
  emulator::WorldFile file;
  emulator::Emulator hns{clock, host};
};

absl::StatusOr<std::shared_ptr<hns::Api>> OpenFile(const std::string& path, host::Host& host) {
  const absl::StatusOr<std::vector<host::Adapter>> adapters = host.Adapters();
  if (!adapters.ok()) return adapters.status();
  std::vector<emulator::SimpleHost::Adapter> nics;
  for (const host::Adapter& adapter : *adapters) {
    if (adapter.loopback) continue;
    emulator::SimpleHost::Adapter nic{adapter.name, {}, /*usable=*/true};
    for (const host::AssignedAddress& assigned : adapter.addresses)
      nic.addresses.push_back(assigned.address);
    nics.push_back(std::move(nic));
  }
  const auto world = std::make_shared<World>(std::move(nics), path);
  if (absl::Status status = world->hns.KeepIn(&world->file); !status.ok()) return status;
  return std::shared_ptr<hns::Api>(world, &world->hns);
}

}  // namespace

absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const Options& options, host::Host& host) {
  if (!options.hns.empty()) {
    const std::string path = options.hns.substr(std::string_view("emulator:").size());
    if (path.starts_with("tcp:") || path.starts_with("unix:"))
      return std::make_shared<emulator::RemoteApi>(path);
    return OpenFile(path, host);
  }
  if (options.dataplane != "hns") return std::shared_ptr<hns::Api>();
  absl::StatusOr<std::unique_ptr<hns::Api>> api = hns::OpenApi();
  if (!api.ok()) return api.status();
  return std::shared_ptr<hns::Api>(*std::move(api));
}

}  // namespace weft::daemon
