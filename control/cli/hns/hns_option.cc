// SPDX-License-Identifier: Apache-2.0
#include "control/cli/hns/hns_option.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/cli/parser.h"
#include "control/cli/text_table.h"
#include "control/config/options.h"
#include "control/emulator/remote/open_hns.h"

namespace weft::cli {

void AddHnsOption(CLI::App& parser, std::string& hns) {
  AddOption(parser, "--hns", hns, "emulator:PATH", "An emulator in place of this machine's own HNS")
      ->check([](const std::string& text) {
        return config::EmulatorPath(text) ? "" : text + " is not understood; write emulator:PATH";
      });
}

absl::StatusOr<std::shared_ptr<hns::Api>> OpenHns(const std::string& hns) {
  return emulator::OpenHns(config::EmulatorPath(hns));
}

absl::StatusOr<std::vector<hns::Network>> FindNetworks(hns::Client& client, const std::string& name,
                                                       std::vector<hns::Unread>* unread,
                                                       std::vector<std::string>* documents) {
  auto networks = client.Networks(name, unread, documents);
  if (!networks.ok() || !networks->empty()) return networks;
  std::vector<hns::Unread> others;
  std::vector<std::string> all, found;
  networks = client.Networks("", &others, &all);
  if (!networks.ok()) return networks;
  std::vector<hns::Network> named;
  const auto id = hns::Guid::Parse(name);
  for (std::size_t i = 0; i < all.size(); ++i) {
    hns::Network& network = (*networks)[i];
    if (CellOf(network.name) != name && id != network.id) continue;
    named.push_back(std::move(network));
    found.push_back(std::move(all[i]));
  }
  if (named.size() > 1) {
    return absl::FailedPreconditionError(
        absl::StrCat(named.size(), " networks are shown as ", name, "; give the id of one"));
  }
  if (unread) *unread = std::move(others);
  if (documents) *documents = std::move(found);
  return named;
}

void ReportUnread(Io& io, std::string_view verb, const std::vector<hns::Unread>& unread) {
  for (const hns::Unread& each : unread)
    io.err << "flannelctl " << verb << ": omitted: " << each.why << "\n";
}

absl::StatusOr<nlohmann::json> JsonFields(std::span<const std::string> words) {
  using Json = nlohmann::json;
  Json fields = Json::object();
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos)
      return absl::InvalidArgumentError(absl::StrCat("\"", word, "\" must be KEY=VALUE"));
    const std::string value = word.substr(equals + 1);
    Json json = Json::parse(value, nullptr, false);
    const bool is_json = json.is_boolean() || json.is_number_integer() || json.is_structured();
    fields[word.substr(0, equals)] = is_json ? std::move(json) : Json(value);
  }
  return fields;
}

}  // namespace weft::cli
