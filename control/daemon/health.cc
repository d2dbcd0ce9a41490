// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/health.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weft::daemon {
namespace {

constexpr auto kRecent = std::chrono::milliseconds(100);

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

const std::vector<admin::Check>& RecentChecks::At(TimePoint now) {
  if (!read_at_ || now - *read_at_ > kRecent) {
    checks_ = read_();
    read_at_ = now;
  }
  return checks_;
}

admin::Handler HealthHandler(ReadChecks read_checks) {
  return [read_checks = std::move(read_checks)](const admin::Request& request) {
    if (request.path == "/healthz" || request.path == "/livez")
      return Answer(200, "flanneld is running");
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
