// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/emulated_node.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/emulator/hns/model/document.h"
#include "control/file_io.h"
#include "nlohmann/json.hpp"

namespace weft::emulator {

EmulatedNode::EmulatedNode(hns::emulator::Clock& clock, hns::emulator::Settings settings)
    : host_({}, [&clock] { return clock.Now(); }), hns_(clock, host_, std::move(settings)) {}

std::string EmulatedNode::Text() const {
  using Json = nlohmann::ordered_json;
  const Json out = {{"host", Json::parse(host::HostStateText(host_.state()))},
                    {"hns", Json::parse(hns_.StateText())}};
  return out.dump(1) + "\n";
}

absl::Status EmulatedNode::Read(std::string_view text) {
  const auto document = hns::emulator::ParseDocument(text, hns::emulator::kDeepestState);
  if (!document)
    return absl::InvalidArgumentError(
        "emulated node: it is no JSON object, or nests too deep; correct it");
  const auto part = [&](const char* key) {
    const auto found = document->find(key);
    return found == document->end() ? std::string("{}") : found->dump();
  };
  absl::StatusOr<host::HostState> host = host::ParseHostState(part("host"));
  if (!host.ok()) return host.status();
  if (absl::Status status = hns_.LoadState(part("hns")); !status.ok()) return status;
  host_.Replace(*std::move(host));
  return absl::OkStatus();
}

void EmulatedNode::Reboot(const hns::emulator::Restart& restart) {
  host_.Reboot();
  hns_.Reboot(restart);
}

absl::Status NodeFile::Open() {
  std::error_code none;
  if (std::filesystem::exists(control::PathOf(path_), none)) {
    const absl::StatusOr<std::string> text = control::ReadFileText(path_);
    if (!text.ok())
      return absl::UnavailableError(
          absl::StrCat("cannot read ", path_, ": ", text.status().message()));
    if (absl::Status status = node_.Read(*text); !status.ok())
      return absl::InvalidArgumentError(absl::StrCat(path_, ": ", status.message()));
  }
  hns_ = ~node_.hns().version();  // different from any written version
  return Save();
}

absl::Status NodeFile::Save() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t hns = node_.hns().version();
  host::HostState host = node_.host().state();
  if (hns == hns_ && host == host_) return absl::OkStatus();
  const absl::Status status = control::ReplaceFileText(path_, node_.Text());
  if (!status.ok())
    return absl::UnavailableError(absl::StrCat("cannot write ", path_, ": ", status.message()));
  hns_ = hns;
  host_ = std::move(host);
  return absl::OkStatus();
}

}  // namespace weft::emulator
