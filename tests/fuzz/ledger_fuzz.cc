// SPDX-License-Identifier: Apache-2.0
// Any bytes as the ledger of --state-dir, and after a line "=== ledger.changes" as its changes: set
// aside untouched, or entries that survive being written; and every reader of the entries accepts
// or ignores each.
#include <algorithm>
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

#include "control/ledger/ledger.h"
#include "control/ledger/node_ledger.h"
#include "tests/fuzz/input.h"

namespace {

using weft::fuzz::Require;
using weft::ledger::Ledger;
using weft::ledger::Row;
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
    for (const auto& file : fs::directory_iterator(path_)) fs::remove(file);
    constexpr std::string_view kChanges = "\n=== ledger.changes\n";
    const std::size_t at = text.find(kChanges);
    std::ofstream(path_ + "/ledger.json", std::ios::binary) << text.substr(0, at);
    if (at == std::string_view::npos) return;
    std::ofstream(path_ + "/ledger.changes", std::ios::binary) << text.substr(at + kChanges.size());
  }
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const auto& file : fs::directory_iterator(path_)) {
      std::ifstream in(file.path(), std::ios::binary);
      texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return texts;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void CheckFiles(const Folder& folder, std::string_view text) {
  folder.Write(text);
  const std::vector<std::string> before = folder.Texts();
  Ledger ledger(folder.path());
  const absl::Status loaded = ledger.Load();
  const std::vector<std::string> after = folder.Texts();
  if (absl::IsUnimplemented(loaded)) return Require(after == before, "a later version's stays");
  Require(loaded.ok() || absl::IsDataLoss(loaded), "loaded");
  const auto lost = std::count_if(before.begin(), before.end(), [&](const std::string& each) {
    return std::find(after.begin(), after.end(), each) == after.end();
  });
  // When changes are set aside, the ledger contains those that were understood.
  Require(lost == 0 || (!loaded.ok() && lost == 1 && before.size() == 2), "nothing is lost");
  // Changes that are applied a second time change nothing.
  Ledger again(folder.path());
  Require(again.Load().ok() && again.entries() == ledger.entries(), "the same entries");
  // Written with one more entry, and read again.
  const weft::ledger::Entry more =
      weft::ledger::EntryFrom(Row{"fuzz", "one more", "id\n\\", true, "a \"shape\""});
  Require(ledger.Confirm(more).ok() && ledger.Fold().ok(), "written");
  Require(again.Load().ok() && again.entries() == ledger.entries(), "the same entries");
  Require(again.Forget({more}).ok() && again.entries().size() + 1 == ledger.entries().size(),
          "removed");
  Require(!fs::exists(ledger.changes_path()), "folded");
}

void CheckReaders(const Folder& folder, std::string_view text) {
  using namespace weft;
  folder.Write(text);
  const auto node = std::make_shared<ledger::NodeLedger>(folder.path());
  for (const hns::Kind kind : {hns::Kind::kNetwork, hns::Kind::kEndpoint})
    static_cast<void>(node->Objects(kind));
  const auto routes = node->RecallStaticRoutes(/*keeps_switch=*/true);
  node->RememberStaticRoutes(routes);
  // The read entries equal the written ones: none is invented, and none changes in a round trip.
  const auto again = node->RecallStaticRoutes(/*keeps_switch=*/true);
  Require(again.size() == routes.size(), "the links of the static routes");
  for (const auto& [mac, mine] : routes) {
    const auto found = again.find(mac);
    Require(found != again.end() && found->second == mine, "their routes");
  }
  const auto settings = node->RecallStaticIps(/*keeps_switch=*/true);
  node->RememberStaticIps(settings);
  Require(node->RecallStaticIps(true).size() == settings.size(), "static IP settings");
  for (const char* const all : {"0.0.0.0/0", "::/0"})
    node->Forget(node->Owned(*IpPrefix::Parse(all)));
  node->Use([](Ledger& ledger) -> ledger::NodeLedger::Written {
    Require(ledger.All<ledger::HostRoute>().empty(), "no host route stays");
    return std::nullopt;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckFiles(folder, text);
  CheckReaders(folder, text);
  return 0;
}
