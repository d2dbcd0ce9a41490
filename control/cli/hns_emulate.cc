// SPDX-License-Identifier: Apache-2.0
// flannelctl hns emulate
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "boost/asio/io_context.hpp"
#include "boost/asio/signal_set.hpp"
#include "control/cli/json_fields.h"
#include "control/cli/verbs.h"
#include "control/emulator/adapter_text.h"
#include "control/emulator/served_host.h"
#include "control/emulator/world.h"
#include "control/emulator/world_commands.h"
#include "hns/emulator/remote/commands.h"
#include "hns/emulator/remote/remote_server.h"
#include "hns/emulator/world_file.h"

namespace weft::cli {
namespace {

namespace remote = hns::emulator;

constexpr char kVerb[] = "hns emulate";

struct Options {
  std::string listen = "tcp:127.0.0.1:0";
  std::string state, version, gateway;
  std::vector<std::string> adapters, settings, faults;
};

// The machine's adapters and its default routes.
absl::Status Furnish(const Options& options, host::EmulatedHost& host) {
  for (const std::string& text : options.adapters) {
    absl::StatusOr<host::Adapter> adapter = emulator::ParseAdapter(text);
    if (!adapter.ok())
      return absl::InvalidArgumentError(absl::StrCat("--adapter ", adapter.status().message()));
    emulator::AddNic(host, *std::move(adapter));
  }
  if (options.gateway.empty()) return absl::OkStatus();
  host::Route route;
  route.gateway = IpAddress::Parse(options.gateway);
  if (!route.gateway)
    return absl::InvalidArgumentError(
        absl::StrCat("--gateway ", options.gateway, ": it is no address; correct it"));
  if (!route.gateway->is_v4()) route.destination = *IpPrefix::Parse("::/0");
  const absl::StatusOr<host::Route> way = host.RouteTo(*route.gateway);
  if (!way.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("--gateway ", options.gateway, ": no --adapter is on its link; correct one"));
  route.adapter_index = way->adapter_index;
  return host.PutRoutes({route}).front();
}

absl::Status Apply(const Options& options, remote::Emulator& hns) {
  absl::StatusOr<nlohmann::json> settings = JsonFields(options.settings);
  if (!settings.ok()) return settings.status();
  if (!options.version.empty()) (*settings)["version"] = options.version;
  if (!settings->empty()) {  // else the world's own stay
    auto set = remote::CarryOut(hns, {{"command", "set"}, {"settings", *settings}});
    if (!set.ok()) return set.status();
  }
  for (const std::string& text : options.faults) {
    const std::vector<std::string> words = absl::StrSplit(text, ',');
    const absl::StatusOr<nlohmann::json> fields = JsonFields(words);
    if (!fields.ok()) return fields.status();
    absl::StatusOr<remote::Fault> fault = remote::ReadFault(*fields);
    if (!fault.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("--fault ", text, ": ", fault.status().message()));
    hns.Add(*std::move(fault));
  }
  return absl::OkStatus();
}

void WaitForEnd() {
  boost::asio::io_context context;
  boost::asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([](const auto&, int) {});
  context.run();
}

ExitCode Run(const Options& options, Io& io) {
  remote::SystemClock clock;
  emulator::World world(clock);
  remote::WorldFile file(options.state);
  absl::Status status = Furnish(options, world.host());
  if (status.ok() && !options.state.empty()) status = world.hns().KeepIn(&file);
  if (status.ok()) status = Apply(options, world.hns());
  if (!status.ok()) return Fail(io, kVerb, status);
  emulator::ServedHost host(world.host());
  const auto server = remote::RemoteServer::Start(
      options.listen, world.hns(),
      [&](const std::string& command) { return emulator::Command(world, command); }, &host,
      [&] { return world.hns().NewProcess(); });
  if (!server.ok()) return Fail(io, kVerb, server.status());
  io.out << "listening on " << (*server)->address() << std::endl;
  WaitForEnd();
  world.hns().ClearFaults();  // the server's end waits for calls that hang
  return ExitCode::kOk;
}

}  // namespace

Action AddHnsEmulate(CLI::App& parser) {
  auto options = std::make_shared<Options>();
  parser
      .add_option("--listen", options->listen,
                  "tcp:HOST:PORT, on Linux also unix:PATH; port 0 is any, and is printed")
      ->type_name("ADDRESS")
      ->capture_default_str();
  parser.add_option("--state", options->state, "Keep the world in FILE, which others may share")
      ->type_name("FILE");
  parser.add_option("--version", options->version, "HNS's version, such as 9.5 or 13.3")
      ->type_name("X.Y");
  parser.add_option("--adapter", options->adapters, "A network adapter of the machine")
      ->type_name("NAME=ADDRESS/LENGTH,...")
      ->default_str("Ethernet=192.168.1.10/24");
  parser
      .add_option("--gateway", options->gateway,
                  "The machine's default route (without --adapter 192.168.1.1)")
      ->type_name("ADDRESS");
  parser.add_option("--set", options->settings, "A setting: latency_ms=20, atomic_batches=false")
      ->type_name("KEY=VALUE");
  parser.add_option("--fault", options->faults, "A call that goes wrong; more by \"hns control\"")
      ->type_name("KEY=VALUE,...");
  parser.footer(
      "Programs under Wine see it through the DLLs that tests/wine/hns.sh puts into a\n"
      "prefix, when WEFT_HNS_EMULATOR is its address; flanneld also sees its machine,\n"
      "with --host=emulator:ADDRESS. It ends on SIGTERM.\n\n"
      "Examples:\n"
      "  flannelctl hns emulate --listen tcp:127.0.0.1:4096 --state hns.json\n"
      "  flannelctl hns emulate --adapter Ethernet=192.168.80.11/24 --version 9.5\n"
      "  flannelctl hns emulate --set latency_ms=20 \\\n"
      "      --fault function=HcnModifyNetwork,code=0x803B000D,count=2");
  return [options](Io& io) {
    Options given = *options;
    if (given.adapters.empty()) {
      given.adapters.push_back("Ethernet=192.168.1.10/24");
      if (given.gateway.empty()) given.gateway = "192.168.1.1";
    }
    return Run(given, io);
  };
}

}  // namespace weft::cli
