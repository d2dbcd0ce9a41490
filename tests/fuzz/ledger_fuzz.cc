// SPDX-License-Identifier: Apache-2.0
// Any bytes as the ledger of --state-dir: set aside untouched, or entries that survive being
// written; and every reader of the entries takes them for its own or leaves them.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "control/ledger/hns_ledger.h"
#include "control/ledger/ledger.h"
#include "control/ledger/node_ledger.h"
#include "control/ledger/route_ledger.h"
#include "control/ledger/static_route_ledger.h"
#include "tests/fuzz/input.h"

namespace {

using weft::fuzz::Require;
using weft::ledger::Ledger;
using weft::ledger::LedgerEntry;
namespace fs = std::filesystem;

// In memory where the system has that, and gone with the process.
class Folder {
 public:
  Folder() {
    const fs::path where = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
    path_ = (where / ("weft-ledger-fuzz-" + std::to_string(std::random_device()()))).string();
    Require(fs::create_directory(path_), "a folder");
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  void Write(std::string_view text) const {
    for (const fs::path& broken : Broken()) fs::remove(broken);
    std::ofstream(path_ + "/ledger.json", std::ios::binary) << text;
  }
  std::vector<fs::path> Broken() const {
    std::vector<fs::path> broken;
    for (const auto& file : fs::directory_iterator(path_)) {
      if (file.path().filename().string().starts_with("ledger.json.broken-"))
        broken.push_back(file.path());
    }
    return broken;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void CheckFile(const Folder& folder, std::string_view text) {
  folder.Write(text);
  Ledger ledger(folder.path());
  if (const absl::Status loaded = ledger.Load(); !loaded.ok()) {
    Require(absl::IsDataLoss(loaded) && ledger.entries().empty(), "an empty ledger");
    const std::vector<fs::path> broken = folder.Broken();
    Require(broken.size() == 1, "one broken file");
    std::ifstream in(broken.front(), std::ios::binary);
    Require(std::string(std::istreambuf_iterator<char>(in), {}) == text, "nothing is lost");
    Require(!fs::exists(ledger.path()), "the broken one is out of the way");
    return;
  }
  // Written with one more entry, and read again.
  const LedgerEntry more{"fuzz", "one more", "id\n\\", true, "a \"shape\""};
  Require(ledger.Put(more).ok(), "written");
  Ledger again(folder.path());
  Require(again.Load().ok() && again.entries() == ledger.entries(), "the same entries");
  Require(again.Find(more.kind, more.name) != nullptr, "the one more");
  Require(again.Remove(more.kind, more.name).ok() && !again.Find(more.kind, more.name), "removed");
}

void CheckReaders(const Folder& folder, std::string_view text) {
  using namespace weft;
  folder.Write(text);
  const auto node = std::make_shared<ledger::NodeLedger>(folder.path());
  ledger::HnsLedger hns(node);
  for (const hns::Kind kind : {hns::Kind::kNetwork, hns::Kind::kEndpoint})
    static_cast<void>(hns.Entries(kind));
  const auto routes = ledger::RecallStaticRoutes(*node, /*keeps_switch=*/true);
  ledger::RememberStaticRoutes(*node, routes);
  // What was recalled is what was remembered: nothing is made up, nothing changes by going round.
  const auto again = ledger::RecallStaticRoutes(*node, /*keeps_switch=*/true);
  Require(again.size() == routes.size(), "the links of the static routes");
  for (const auto& [mac, mine] : routes) {
    const auto found = again.find(mac);
    Require(found != again.end() && found->second.size() == mine.size(), "their routes");
    for (std::size_t i = 0; i < mine.size(); ++i)
      Require(found->second[i].destination == mine[i].destination &&
                  found->second[i].gateway == mine[i].gateway &&
                  found->second[i].adapter_index == mine[i].adapter_index,
              "their routes");
  }
  ledger::RouteLedger keeper(node);
  keeper.KeepOnly(IpFamily::kV4, {});
  keeper.KeepOnly(IpFamily::kV6, {});
  node->Use([](Ledger& ledger) -> ledger::NodeLedger::Written {
    for (const LedgerEntry& entry : ledger.entries()) {
      Require(entry.kind != weft::ledger::kHostRoute || !IpPrefix::Parse(entry.name) ||
                  !IpAddress::Parse(entry.id),
              "no host route stays");
    }
    return std::nullopt;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckFile(folder, text);
  CheckReaders(folder, text);
  return 0;
}
