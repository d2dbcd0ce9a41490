// SPDX-License-Identifier: Apache-2.0
// flannelctl hns emulate
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "boost/asio/io_context.hpp"
#include "boost/asio/signal_set.hpp"
#include "control/cli/hns/hns_option.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"
#include "control/emulator/commands.h"
#include "control/emulator/emulated_node.h"
#include "control/emulator/host/adapter_text.h"
#include "control/emulator/remote/remote_server.h"
#include "control/emulator/remote/served_host.h"

namespace weft::cli {
namespace {

namespace remote = hns::emulator;

constexpr char kEmulateVerb[] = "hns emulate";

struct EmulateOptions {
  std::string listen, state, version, gateway;
  std::vector<std::string> adapters, settings, faults;
};

// The machine's adapters and its default routes.
absl::Status AddAdapters(const EmulateOptions& options, host::EmulatedHost& host) {
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
        absl::StrCat("--gateway ", options.gateway, ": not an IP address; correct it"));
  if (!route.gateway->is_v4()) route.destination = *IpPrefix::Parse("::/0");
  const absl::StatusOr<host::Route> on_link = host.RouteTo(*route.gateway);
  if (!on_link.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("--gateway ", options.gateway, ": no --adapter is on its link; correct one"));
  route.adapter_index = on_link->adapter_index;
  return host.PutRoutes({route}).front();
}

absl::Status Apply(const EmulateOptions& options, emulator::EmulatedNode& node) {
  absl::StatusOr<nlohmann::json> settings = JsonFields(options.settings);
  if (!settings.ok()) return settings.status();
  if (!options.version.empty()) (*settings)["version"] = options.version;
  if (!settings->empty()) {  // else the settings of the state file stay
    auto set = emulator::CarryOut(node, {{"command", "set"}, {"settings", *settings}});
    if (!set.ok()) return set.status();
  }
  for (const std::string& text : options.faults) {
    const std::vector<std::string> words = absl::StrSplit(text, ',');
    const absl::StatusOr<nlohmann::json> fields = JsonFields(words);
    if (!fields.ok()) return fields.status();
    absl::StatusOr<remote::Fault> fault = emulator::ReadFault(*fields);
    if (!fault.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("--fault ", text, ": ", fault.status().message()));
    node.hns().Add(*std::move(fault));
  }
  return absl::OkStatus();
}

void WaitForEnd() {
  boost::asio::io_context context;
  boost::asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([](const auto&, int) {});
  context.run();
}

ExitCode RunEmulate(const EmulateOptions& options, Io& io) {
  remote::SystemClock clock;
  emulator::EmulatedNode node(clock);
  std::optional<emulator::NodeFile> file;
  if (!options.state.empty()) file.emplace(node, options.state);
  absl::Status status = AddAdapters(options, node.host());
  if (status.ok() && file) status = file->Open();
  if (status.ok()) status = Apply(options, node);
  if (!status.ok()) return Fail(io, kEmulateVerb, status);
  const auto save = [&] {
    if (!file) return;
    if (const absl::Status saved = file->Save(); !saved.ok()) Fail(io, kEmulateVerb, saved);
  };
  emulator::ServedHost host(node.host());
  const auto server = remote::RemoteServer::Start(
      options.listen, node.hns(),
      [&](const std::string& command) { return emulator::Command(node, command); }, &host,
      [&] { return node.hns().NewProcess(); }, save);
  if (!server.ok()) return Fail(io, kEmulateVerb, server.status());
  io.out << "listening on " << (*server)->path() << std::endl;
  WaitForEnd();
  node.hns().ClearFaults();  // the server would wait for calls that hang
  return ExitCode::kOk;
}

}  // namespace

Action AddHnsEmulate(CLI::App& parser) {
  auto options = std::make_shared<EmulateOptions>();
  AddOption(parser, "--listen", options->listen, "PATH",
            "A Unix-domain socket, on Windows a pipe's name; only its owner can connect")
      ->required();
  AddOption(parser, "--state", options->state, "FILE",
            "Keep the node in FILE; if FILE exists, its adapters and settings are used");
  AddOption(parser, "--version", options->version, "X.Y", "HNS's version, such as 9.5 or 13.3");
  AddOption(parser, "--adapter", options->adapters, "NAME=ADDRESS/LENGTH,...",
            "A network adapter of the machine")
      ->default_str("Ethernet=192.168.1.10/24");
  AddOption(parser, "--gateway", options->gateway, "ADDRESS",
            "The machine's default route (without --adapter 192.168.1.1)");
  AddOption(parser, "--set", options->settings, "KEY=VALUE",
            "A setting: latency_ms=20, atomic_batches=false");
  AddOption(parser, "--fault", options->faults, "KEY=VALUE,...",
            "A call that fails; \"hns control\" adds more");
  parser.footer(
      "flanneld uses it with --hns=emulator:PATH. Programs under Wine reach it through\n"
      "the DLLs that tests/wine/hns.sh puts into a prefix, if WEFT_HNS_EMULATOR is its\n"
      "pipe. It ends on SIGTERM.\n\n"
      "Examples:\n"
      "  flannelctl hns emulate --listen hns.sock --state node.json\n"
      "  flannelctl hns emulate --listen hns.sock --adapter Ethernet=192.168.80.11/24 \\\n"
      "      --version 9.5\n"
      "  flannelctl hns emulate --listen hns.sock --set latency_ms=20 \\\n"
      "      --fault function=HcnModifyNetwork,code=0x803B000D,count=2");
  return [options](Io& io) {
    EmulateOptions given = *options;
    if (given.adapters.empty()) {
      given.adapters.push_back("Ethernet=192.168.1.10/24");
      if (given.gateway.empty()) given.gateway = "192.168.1.1";
    }
    return RunEmulate(given, io);
  };
}

}  // namespace weft::cli
