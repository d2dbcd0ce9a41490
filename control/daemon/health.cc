// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/health.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/metrics/exposition.h"

namespace weft::daemon {
namespace {

// As kube-apiserver writes it: "[+]name ok: text", "[-]name failed: text".
std::string Verbose(const std::vector<admin::Check>& checks) {
  std::string out;
  for (const admin::Check& check : checks) {
    absl::StrAppend(&out, check.ok ? "[+]" : "[-]", check.name, check.ok ? " ok" : " failed",
                    check.text.empty() ? "" : ": ", check.text, "\n");
  }
  return out;
}

admin::Response Answer(int status, std::string body) {
  admin::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

}  // namespace

bool AllOk(const std::vector<admin::Check>& checks) {
  return std::all_of(checks.begin(), checks.end(),
                     [](const admin::Check& check) { return check.ok; });
}

admin::Handler HealthHandler(ReadChecks read_checks, ReadMetrics read_metrics) {
  return [read_checks = std::move(read_checks),
          read_metrics = std::move(read_metrics)](const admin::Request& request) {
    if (request.path == "/healthz" || request.path == "/livez")
      return Answer(200, "flanneld is running");
    if (request.path == "/metrics") {
      admin::Response response = Answer(200, read_metrics());
      response.content_type = metrics::kContentType;
      return response;
    }
    if (request.path != "/readyz") return Answer(404, "404 page not found\n");
    const std::vector<admin::Check> checks = read_checks();
    const bool ready = AllOk(checks);
    // The first failing check; those after it may depend on it.
    const auto failing = std::find_if(checks.begin(), checks.end(),
                                      [](const admin::Check& check) { return !check.ok; });
    const std::string sentence =
        ready ? "flanneld is ready"
              : absl::StrCat("flanneld is not ready yet: ", failing->name,
                             failing->text.empty() ? "" : ": ", failing->text);
    const std::string lines = request.query.contains("verbose") ? Verbose(checks) : "";
    return Answer(ready ? 200 : 503, absl::StrCat(lines, sentence));
  };
}

}  // namespace weft::daemon
