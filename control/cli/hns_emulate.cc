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
#include "hns/emulator/emulator.h"
#include "hns/emulator/remote/commands.h"
#include "hns/emulator/remote/remote_server.h"
#include "hns/emulator/simple_host.h"
#include "hns/emulator/world_file.h"

namespace weft::cli {
namespace {

namespace emulator = hns::emulator;

constexpr char kVerb[] = "hns emulate";

struct Options {
  std::string listen = "tcp:127.0.0.1:0";
  std::string state, version;
  std::vector<std::string> adapters, settings, faults;
};

// "Ethernet=192.168.80.11,fd80::11"
absl::StatusOr<emulator::SimpleHost::Adapter> ReadAdapter(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  emulator::SimpleHost::Adapter adapter;
  adapter.name = parts.front();
  if (parts.size() == 2) {
    for (const std::string_view each : absl::StrSplit(parts.back(), ',')) {
      const std::optional<IpAddress> address = IpAddress::Parse(each);
      if (!address)
        return absl::InvalidArgumentError(absl::StrCat("--adapter ", text, ": \"", each,
                                                       "\" is no address; write NAME=ADDRESS,..."));
      adapter.addresses.push_back(*address);
    }
  }
  return adapter;
}

absl::Status Apply(const Options& options, emulator::Emulator& hns) {
  absl::StatusOr<nlohmann::json> settings = JsonFields(options.settings);
  if (!settings.ok()) return settings.status();
  if (!options.version.empty()) (*settings)["version"] = options.version;
  if (!settings->empty()) {  // else the world's own stay
    auto set = emulator::CarryOut(hns, {{"command", "set"}, {"settings", *settings}});
    if (!set.ok()) return set.status();
  }
  for (const std::string& text : options.faults) {
    const std::vector<std::string> words = absl::StrSplit(text, ',');
    const absl::StatusOr<nlohmann::json> fields = JsonFields(words);
    if (!fields.ok()) return fields.status();
    absl::StatusOr<emulator::Fault> fault = emulator::ReadFault(*fields);
    if (!fault.ok())
      return absl::InvalidArgumentError(
          absl::StrCat("--fault ", text, ": ", fault.status().message()));
    hns.Add(*std::move(fault));
  }
  return absl::OkStatus();
}

hns::Reply Answer(emulator::Emulator& hns, const std::string& text) {
  const absl::StatusOr<nlohmann::json> answer =
      emulator::CarryOut(hns, nlohmann::json::parse(text, nullptr, false));
  hns::Reply reply;
  if (answer.ok()) {
    reply.text = answer->dump();
  } else {
    reply.code = hns::hresult::kInvalidArgument;
    reply.error_record = answer.status().message();
  }
  return reply;
}

void WaitForEnd() {
  boost::asio::io_context context;
  boost::asio::signal_set signals(context, SIGINT, SIGTERM);
  signals.async_wait([](const auto&, int) {});
  context.run();
}

ExitCode Run(const Options& options, Io& io) {
  std::vector<emulator::SimpleHost::Adapter> adapters;
  for (const std::string& text : options.adapters) {
    absl::StatusOr<emulator::SimpleHost::Adapter> adapter = ReadAdapter(text);
    if (!adapter.ok()) return Fail(io, kVerb, adapter.status());
    adapters.push_back(*std::move(adapter));
  }
  emulator::SystemClock clock;
  emulator::SimpleHost host(std::move(adapters));
  emulator::WorldFile file(options.state);
  emulator::Emulator hns(clock, host);
  absl::Status status = options.state.empty() ? absl::OkStatus() : hns.KeepIn(&file);
  if (status.ok()) status = Apply(options, hns);
  if (!status.ok()) return Fail(io, kVerb, status);
  const auto server = emulator::RemoteServer::Start(
      options.listen, hns, [&](const std::string& command) { return Answer(hns, command); });
  if (!server.ok()) return Fail(io, kVerb, server.status());
  io.out << "listening on " << (*server)->address() << std::endl;
  WaitForEnd();
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
      ->type_name("NAME=ADDRESS,...")
      ->default_str("Ethernet=192.168.1.10");
  parser.add_option("--set", options->settings, "A setting: latency_ms=20, atomic_batches=false")
      ->type_name("KEY=VALUE");
  parser.add_option("--fault", options->faults, "A call that goes wrong; more by \"hns control\"")
      ->type_name("KEY=VALUE,...");
  parser.footer(
      "Programs under Wine see it through the DLLs that tests/wine/hns.sh puts into a\n"
      "prefix, when WEFT_HNS_EMULATOR is its address. It ends on SIGTERM.\n\n"
      "Examples:\n"
      "  flannelctl hns emulate --listen tcp:127.0.0.1:4096 --state hns.json\n"
      "  flannelctl hns emulate --adapter Ethernet=192.168.80.11 --version 9.5\n"
      "  flannelctl hns emulate --set latency_ms=20 \\\n"
      "      --fault function=HcnModifyNetwork,code=0x803B000D,count=2");
  return [options](Io& io) {
    Options given = *options;
    if (given.adapters.empty()) given.adapters.push_back("Ethernet=192.168.1.10");
    return Run(given, io);
  };
}

}  // namespace weft::cli
