// SPDX-License-Identifier: Apache-2.0
// flannelctl version
#include <memory>

#include "control/admin/schema.h"
#include "control/cli/json_to_yaml.h"
#include "control/cli/parser.h"
#include "control/cli/verbs.h"
#include "nlohmann/json.hpp"

namespace weft::cli {

Action AddVersion(CLI::App& parser) {
  auto output = std::make_shared<std::string>("text");
  AddOutputOption(parser, *output, {"text", "json", "yaml"});
  parser.footer(
      "flanneld's own version is in \"flannelctl status\".\n\n"
      "Examples:\n"
      "  flannelctl version\n"
      "  flannelctl version -o json");
  return [output](Io& io) {
    const nlohmann::ordered_json json{
        {"apiVersion", admin::kApiVersion}, {"kind", "Version"}, {"version", WEFT_VERSION}};
    if (*output == "json") {
      io.out << json.dump(2) << "\n";
    } else if (*output == "yaml") {
      io.out << ToYaml(json);
    } else {
      io.out << "flannelctl " WEFT_VERSION " (" << admin::kApiVersion << ")\n";
    }
    return ExitCode::kOk;
  };
}

}  // namespace weft::cli
