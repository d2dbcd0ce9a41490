// SPDX-License-Identifier: Apache-2.0
// Any row of calls on the HNS emulator, each a line: refused with an error record, or answered with
// JSON; its state can be saved and loaded, and is the same.
//   e|c|q|m|d KIND DOCUMENT   enumerate, create, query, modify, delete; KIND is 0 to 3
//   / METHOD PATH REQUEST     HNSCall
//   w WORLD                   load
// $0 is the id of the first network, $1 of the first endpoint, ...
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "control/emulator/hns/emulator.h"
#include "nlohmann/json.hpp"
#include "tests/support/ethernet_node.h"

namespace {

using weft::hns::Guid;
using weft::hns::Handle;
using weft::hns::Kind;
using weft::hns::Reply;

void Require(bool promise) {
  if (!promise) std::abort();
}
bool IsJson(const std::string& text) { return nlohmann::json::accept(text); }

class StillClock final : public weft::hns::emulator::Clock {
 public:
  weft::hns::emulator::Milliseconds Now() override { return weft::hns::emulator::Milliseconds(1); }
  void Sleep(weft::hns::emulator::Milliseconds) override {}
};

class Client {
 public:
  void Do(std::string_view line) {
    if (line.empty()) return;
    if (line[0] == 'w') {
      hns_.LoadState(line.substr(1)).IgnoreError();
    } else if (line[0] == '/') {
      const std::string text = WithIds(line.substr(1));
      const std::vector<std::string> words = absl::StrSplit(text, absl::MaxSplits(' ', 2));
      if (words.size() == 3) Look(hns_.Call(words[0], words[1], words[2]), true);
    } else if (line.size() > 1 && line[1] >= '0' && line[1] <= '3') {
      Call(line[0], static_cast<Kind>(line[1] - '0'), WithIds(line.substr(2)));
    }
  }

  void Finish() {
    Require(hns_.open_handles() == 0 && hns_.handle_misuses() == 0);
    const std::string saved = hns_.StateText();
    Require(hns_.LoadState(saved).ok());
    Require(hns_.StateText() == saved);
    hns_.Reboot();
  }

 private:
  // The id of the first object.
  Guid First(Kind kind) {
    const auto ids = nlohmann::json::parse(hns_.Enumerate(kind, "").text, nullptr, false);
    if (!ids.is_array() || ids.empty()) return Guid();
    const auto id = Guid::Parse(ids[0].get<std::string>());
    Require(id.has_value());
    return *id;
  }
  std::string WithIds(std::string_view text) {
    std::string done(text);
    for (int kind = 0; kind < 4; ++kind) {
      const std::string name = "$" + std::to_string(kind);
      if (done.find(name) == std::string::npos) continue;
      done = absl::StrReplaceAll(done, {{name, First(static_cast<Kind>(kind)).ToString()}});
    }
    return done;
  }

  void Call(char what, Kind kind, const std::string& document) {
    if (what == 'e') Look(hns_.Enumerate(kind, document), true);
    if (what == 'd') Look(hns_.Delete(kind, First(kind)), false);
    if (what != 'c' && what != 'q' && what != 'm') return;
    Handle parent = Handle::kNone;
    if (what == 'c' && kind == Kind::kEndpoint) {
      parent = hns_.Open(Kind::kNetwork, First(Kind::kNetwork)).handle;
      if (parent == Handle::kNone) return;
    }
    const Reply opened =
        what == 'c' ? hns_.Create(kind, parent, Guid(), document) : hns_.Open(kind, First(kind));
    Look(opened, false);
    if (parent != Handle::kNone) hns_.Close(Kind::kNetwork, parent);
    if (!opened.ok()) return;
    if (what == 'q') Look(hns_.Query(kind, opened.handle, document), true);
    if (what == 'm') Look(hns_.Modify(kind, opened.handle, document), false);
    for (const char* query : {"", R"({"SchemaVersion":{"Major":2}})"}) {
      Look(hns_.Query(kind, opened.handle, query), true);
    }
    hns_.Close(kind, opened.handle);
  }

  static void Look(const Reply& reply, bool has_text) {
    if (!reply.ok()) {
      Require(reply.handle == Handle::kNone && IsJson(reply.error_record));
    } else {
      Require(reply.error_record.empty());
      if (has_text) Require(IsJson(reply.text));
    }
  }

  StillClock clock_;
  weft::testing::EthernetNode node_{clock_};
  weft::hns::emulator::Emulator& hns_ = node_.hns();
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Client client;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string_view line : absl::StrSplit(text, '\n')) client.Do(line);
  client.Finish();
  return 0;
}
