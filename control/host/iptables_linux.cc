// SPDX-License-Identifier: Apache-2.0
#include "control/host/iptables_linux.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "control/child_process.h"
#include "control/host/system_file_linux.h"

namespace weft::host {
namespace {

constexpr auto kLimit = std::chrono::milliseconds(300);  // of the control thread's time
constexpr int kLocked = 4;  // exit code: another program has the lock, or memory ran out

using Words = std::vector<std::string>;

// proc(5): the tables that this network namespace has; the file exists once the module is loaded.
// PermissionDenied: only root may read it, or it is masked, and flanneld cannot end that.
absl::StatusOr<bool> HasTable(IpFamily family) {
  const absl::StatusOr<std::string> names =
      ReadSystemFile(family == IpFamily::kV4 ? "/proc/self/net/ip_tables_names"
                                             : "/proc/self/net/ip6_tables_names");
  if (absl::IsNotFound(names.status())) return false;
  if (names.ok()) return absl::StrContains(absl::StrCat("\n", *names), "\nfilter\n");
  if (!absl::IsPermissionDenied(names.status()) && !absl::IsUnavailable(names.status()))
    return names.status();
  return absl::PermissionDeniedError(absl::StrCat(
      "it is not known whether this host has tables of iptables-legacy, whose chain FORWARD may "
      "drop the pods' packets: ",
      names.status().message(), "; run flanneld as root, or accept the pods there yourself"));
}

// `words`: a path and arguments. Its output is in the C locale.
absl::StatusOr<control::ChildResult> RunTool(const Words& words) {
  // Cut, it would look like missing rules.
  constexpr std::size_t kMostOutput = std::size_t{4} << 20;
  const control::ChildSpec spec{words.front(),
                                {words.begin() + 1, words.end()},
                                {{"LC_ALL", "C"}, {"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}},
                                kLimit,
                                kMostOutput,
                                /*inherits_environment=*/false,
                                /*supervised=*/false};
  const std::atomic<bool> never{false};
  absl::StatusOr<control::ChildResult> result = control::RunChild(spec, never);
  if (result.ok()) return result;
  return absl::Status(result.status().code(),
                      absl::StrCat(words.front(), " ", result.status().message()));
}

// Ignores PATH, because the program runs as root.
absl::StatusOr<std::string> FindProgram(IpFamily family) {
  const std::string plain = family == IpFamily::kV4 ? "iptables" : "ip6tables";
  for (const std::string& name : {plain + "-legacy", plain}) {
    for (const char* folder : {"/usr/sbin/", "/sbin/", "/usr/local/sbin/", "/usr/bin/", "/bin/"}) {
      const std::string path = folder + name;
      if (::access(path.c_str(), X_OK) != 0) continue;
      if (name != plain) return path;
      const auto version = RunTool({path, "--version"});
      if (version.ok() && !absl::StrContains(version->output, "nf_tables")) return path;
    }
  }
  return absl::NotFoundError(absl::StrCat("the host has tables of ", plain,
                                          "-legacy, and this program is not found: install "
                                          "iptables where flanneld runs"));
}

absl::StatusOr<std::string> Run(IpFamily family, const Words& arguments) {
  const absl::StatusOr<std::string> program = FindProgram(family);
  if (!program.ok()) return program.status();
  Words words = {*program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto done = RunTool(words);
  if (!done.ok()) return done.status();
  if (done->exit_code == 0) return done->output;
  const std::string message =
      absl::StrCat(absl::StrJoin(words, " "), ": exit code ", done->exit_code, ": ",
                   absl::StripAsciiWhitespace(done->errors));
  return done->exit_code == kLocked ? absl::UnavailableError(message)
                                    : absl::InternalError(message);
}

// A rule as `-S` prints it, without "-A FORWARD".
std::string TextOf(const FilterRule& rule, std::string_view comment) {
  const auto side = [](const char* flag, const std::optional<FilterRule::Side>& given) {
    if (!given) return std::string();
    return absl::StrCat(given->outside ? "! " : "", flag, " ", given->prefix.ToString(), " ");
  };
  return absl::StrCat(side("-s", rule.source), side("-d", rule.destination),
                      "-m comment --comment ", comment, " -j ",
                      rule.verdict == FilterVerdict::kAccept ? "ACCEPT" : "RETURN");
}

// The rules of the chain that bear `comment`.
absl::StatusOr<Words> Ours(IpFamily family, std::string_view comment) {
  const absl::StatusOr<std::string> output = Run(family, {"-S", "FORWARD"});
  if (!output.ok()) return output.status();
  const std::string mark = absl::StrCat("--comment ", comment, " ");
  Words rules;
  for (const std::string_view printed : absl::StrSplit(*output, '\n')) {
    std::string line(printed);
    line.erase(std::remove(line.begin(), line.end(), '"'), line.end());
    std::string_view rule = line;
    if (absl::ConsumePrefix(&rule, "-A FORWARD ") && absl::StrContains(rule, mark))
      rules.emplace_back(rule);
  }
  return rules;
}

Words Desired(IpFamily family, const std::vector<FilterRule>& rules, std::string_view comment) {
  Words texts;
  for (const FilterRule& rule : rules)
    if (rule.family == family) texts.push_back(TextOf(rule, comment));
  return texts;
}

absl::Status Change(IpFamily family, const char* verb, const std::string& rule) {
  const Words words = absl::StrSplit(absl::StrCat(verb, " FORWARD ", rule), ' ', absl::SkipEmpty());
  return Run(family, words).status();
}

bool Holds(const Words& rules, const std::string& rule) {
  return std::find(rules.begin(), rules.end(), rule) != rules.end();
}

// Adds the desired rules first, because another program may take the lock between two steps.
absl::Status PutFamily(IpFamily family, const Words& desired, std::string_view comment) {
  const absl::StatusOr<Words> ours = Ours(family, comment);
  if (!ours.ok()) return ours.status();
  for (const std::string& rule : desired) {
    if (Holds(*ours, rule)) continue;
    if (absl::Status status = Change(family, "-A", rule); !status.ok()) return status;
  }
  for (const std::string& rule : *ours) {
    if (Holds(desired, rule)) continue;
    if (absl::Status status = Change(family, "-D", rule); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> HasLegacyForward(const std::vector<FilterRule>& rules,
                                      std::string_view comment) {
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const absl::StatusOr<bool> has = HasTable(family);
    if (!has.ok()) return has.status();
    if (!*has) continue;
    const absl::StatusOr<Words> ours = Ours(family, comment);
    if (!ours.ok()) return ours.status();
    const Words desired = Desired(family, rules, comment);
    // All rules accept, so order and duplicates do not matter.
    if (std::set(ours->begin(), ours->end()) != std::set(desired.begin(), desired.end()))
      return false;
  }
  return true;
}

absl::Status PutLegacyForward(const std::vector<FilterRule>& rules, std::string_view comment) {
  absl::Status first;
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    const absl::StatusOr<bool> has = HasTable(family);
    first.Update(!has.ok() ? has.status()
                 : *has    ? PutFamily(family, Desired(family, rules, comment), comment)
                           : absl::OkStatus());
  }
  return first;
}

}  // namespace weft::host
