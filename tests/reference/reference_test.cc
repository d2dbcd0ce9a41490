// SPDX-License-Identifier: Apache-2.0
// REFERENCE.md, flanneld.8 and flannelctl.8: their text between "begin NAME" and "end" is generated
// from the program's own tables. UPDATE_GOLDEN=1 writes it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "control/cli/flannelctl.h"
#include "control/cli/verbs.h"
#include "control/config/flag_table.h"
#include "control/config/flags.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/lease/peer_state.h"
#include "control/metrics/metric_table.h"
#include "control/net_conf.h"
#include "control/service/event_table.h"
#include "dataplane/verdict.h"
#include "gtest/gtest.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::string ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// One entry of a list: a name, what is typed after it, and a sentence.
struct Item {
  std::string name, value, text;
};
struct Section {
  std::string title;  // empty: the list has none
  std::vector<Item> items;
};

std::vector<Section> Flags() {
  using config::FlagGroup;
  std::vector<Section> sections;
  for (FlagGroup group : {FlagGroup::kLeases, FlagGroup::kInterface, FlagGroup::kDataPlane,
                          FlagGroup::kOutputs, FlagGroup::kLogs, FlagGroup::kCompatible}) {
    Section section{std::string(Title(group)), {}};
    for (const config::FlagRow& row : config::FlagTable()) {
      if (row.group != group) continue;
      const std::string value = DefaultText(row);
      section.items.push_back({absl::StrCat("--", row.name), std::string(row.value),
                               value.empty() || group == FlagGroup::kCompatible
                                   ? std::string(row.help)
                                   : absl::StrCat(row.help, " (default ", value, ")")});
    }
    sections.push_back(std::move(section));
  }
  return sections;
}

std::vector<Section> Variables() {
  std::vector<Section> sections{{"", {}}, {"Accepted from upstream, without effect", {}}};
  for (const config::VariableRow& row : config::VariableTable())
    sections[row.without_effect].items.push_back(
        {std::string(row.name), "", std::string(row.help)});
  return sections;
}

std::vector<Section> NetConfKeys() {
  std::vector<Section> sections;
  for (const control::NetConfKey& key : control::NetConfKeys()) {
    const std::string title =
        key.backend ? absl::StrCat("Backend with Type ", Name(*key.backend)) : "Of the document";
    if (sections.empty() || sections.back().title != title) sections.push_back({title, {}});
    sections.back().items.push_back(
        {std::string(key.name), std::string(key.value), std::string(key.help)});
  }
  return sections;
}

std::vector<Section> Annotations() {
  Section section;
  for (const kube::AnnotationRow& row : kube::AnnotationTable())
    section.items.push_back({std::string(row.name), "", std::string(row.help)});
  return {section};
}

std::vector<Section> Metrics() {
  Section section;
  for (const metrics::MetricRow& row : metrics::MetricTable()) {
    std::vector<std::string_view> labels;
    for (const std::string_view label : row.labels) {
      if (!label.empty()) labels.push_back(label);
    }
    section.items.push_back({std::string(row.name), "",
                             absl::StrCat(Name(row.type), labels.empty() ? "" : " by ",
                                          absl::StrJoin(labels, ", "), ". ", row.help)});
  }
  return {section};
}

std::vector<Section> States() {
  std::vector<Section> sections{{"In use", {}}, {"Not in use", {}}, {"Not leases", {}}};
  for (std::size_t i = 0; i < lease::kPeerStates; ++i) {
    const auto state = static_cast<lease::PeerState>(i);
    const bool used = IsUsable(state) || state == lease::PeerState::kSelf;
    sections[used ? 0 : 1].items.push_back(
        {std::string(Name(state)), "", std::string(Sentence(state))});
  }
  sections[2].items = {
      {"refused", "", "The Node cannot be read; \"flannelctl leases -o wide\" gives the reason."},
      {"not-joined", "",
       "The Node lacks flannel's annotations: none was published, or they were removed."},
      {"deleted", "", "With --watch: the lease is gone."}};
  return sections;
}

// The comments of the table are the titles.
std::vector<Section> Drops() {
  std::vector<Section> sections;
  std::size_t verdict = 0;
  for (const std::string_view line : absl::StrSplit(
           ReadText(fs::path(weft::testing::kSourceDir) / "dataplane/drop_reason.def"), '\n')) {
    if (line.starts_with("WEFT_DROP(")) {
      const auto each = static_cast<dataplane::Verdict>(++verdict);
      sections.back().items.push_back({std::string(Name(each)), "", std::string(Sentence(each))});
    } else if (line.starts_with("// ")) {
      sections.push_back({std::string(line.substr(3, line.find('.') - 3)), {}});
    }
  }
  EXPECT_EQ(verdict + 1, dataplane::kVerdictCount);
  std::erase_if(sections, [](const Section& section) { return section.items.empty(); });
  return sections;
}

std::vector<Section> Events() {
  Section section;
  for (const service::EventRow& row : service::EventTable())
    section.items.push_back({absl::StrCat(static_cast<int>(row.event)),
                             absl::StrCat(row.name, ", ", Name(row.severity)),
                             std::string(row.text)});
  return {section};
}

// The input of windmc.
std::string MessageTable() {
  std::string out;
  for (const service::EventRow& row : service::EventTable())
    absl::StrAppend(&out, "MessageId=", static_cast<int>(row.event),
                    "\nSeverity=", Name(row.severity), "\nFacility=Flanneld\nLanguage=English\n",
                    row.text, "\n.\n");
  return out;
}

// ---- Markdown

// At most 100 columns; what follows the first line is indented.
std::string Wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = 0;
  for (const std::string_view word : absl::StrSplit(text, ' ')) {
    if (column != 0 && column + 1 + word.size() > 100) {
      absl::StrAppend(&out, "\n", std::string(indent, ' '), word);
      column = indent + word.size();
    } else {
      absl::StrAppend(&out, column == 0 ? "" : " ", word);
      column += (column == 0 ? 0 : 1) + word.size();
    }
  }
  return out + "\n";
}

std::string Markdown(const std::vector<Section>& sections) {
  std::string out;
  for (const Section& section : sections) {
    if (!section.title.empty()) absl::StrAppend(&out, "\n### ", section.title, "\n");
    out += "\n";
    for (const Item& item : section.items) {
      const std::string value = item.value.empty()            ? ""
                                : item.name.starts_with("--") ? absl::StrCat("=", item.value)
                                                              : absl::StrCat(": ", item.value);
      absl::StrAppend(&out, Wrapped(absl::StrCat("- `", item.name, value, "`: ", item.text), 2));
    }
  }
  return out;
}

// ---- manual pages

std::string Escaped(std::string_view text) {
  // A line that begins with a dot or an apostrophe would be a request.
  return absl::StrReplaceAll(text,
                             {{"\\", "\\e"}, {"-", "\\-"}, {"\n.", "\n\\&."}, {"\n'", "\n\\&'"}});
}

std::string Roff(const std::vector<Section>& sections) {
  std::string out;
  for (const Section& section : sections) {
    if (!section.title.empty()) absl::StrAppend(&out, ".SS ", Escaped(section.title), "\n");
    for (const Item& item : section.items) {
      const std::string_view join = item.name.starts_with("--") ? "=" : " ";
      absl::StrAppend(&out, ".TP\n\\fB", Escaped(item.name), "\\fR",
                      item.value.empty() ? "" : absl::StrCat(join, Escaped(item.value)), "\n",
                      Escaped(item.text), "\n");
    }
  }
  return out;
}

// The help of a verb, then those of its own verbs.
std::string RoffOfVerb(std::vector<std::string> words) {
  std::ostringstream out, err;
  std::istringstream in;
  cli::Io io{in, out, err};
  std::vector<std::string> arguments{"help"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  EXPECT_EQ(cli::RunFlannelctl(arguments, io), cli::ExitCode::kOk) << err.str();
  const std::string help = out.str();
  std::string text = absl::StrCat(".SS ", Escaped(absl::StrJoin(words, " ")), "\n.nf\n",
                                  Escaped(absl::StripTrailingAsciiWhitespace(help)), "\n.fi\n");
  const std::size_t verbs = help.find("\nVerbs:\n");
  if (verbs == std::string::npos) return text;
  for (const std::string_view line : absl::StrSplit(help.substr(verbs + 8), '\n')) {
    if (line.empty()) break;
    if (line.starts_with("   ")) continue;
    std::vector<std::string> inner = words;
    inner.emplace_back(absl::StripAsciiWhitespace(line));
    text += RoffOfVerb(inner);
  }
  return text;
}

std::string RoffOfVerbs() {
  std::string text;
  for (const cli::Verb& verb : cli::kVerbs) text += RoffOfVerb({std::string(verb.name)});
  return text;
}

// ---- the files

using Parts = std::map<std::string, std::string>;

// `file` with its parts replaced. `begin` and `end` are whole lines; `begin` ends in the name.
std::string Replaced(const std::string& text, const std::string& begin, const std::string& end,
                     const Parts& parts) {
  std::string out;
  bool skip = false;
  std::set<std::string> seen;
  for (const std::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    if (line == end) skip = false;
    if (!skip) absl::StrAppend(&out, line, "\n");
    if (!line.starts_with(begin)) continue;
    const std::string name(line.substr(begin.size(), line.find(' ', begin.size()) - begin.size()));
    EXPECT_TRUE(parts.contains(name)) << name;
    seen.insert(name);
    if (parts.contains(name)) out += parts.at(name);
    skip = true;
  }
  EXPECT_EQ(seen.size(), parts.size());
  return out;
}

void Check(const std::string& name, const std::string& begin, const std::string& end,
           const Parts& parts) {
  const fs::path path = fs::path(weft::testing::kSourceDir) / name;
  const std::string text = ReadText(path);
  const std::string desired = Replaced(text, begin, end, parts);
  const char* const update = std::getenv("UPDATE_GOLDEN");
  if (update != nullptr && update[0] == '1') {
    std::ofstream(path, std::ios::binary) << desired;
  } else {
    EXPECT_EQ(text, desired) << name << " lags behind the program; renew it:\n"
                             << "  UPDATE_GOLDEN=1 build/dev/bin/reference_test";
  }
}

TEST(ReferenceTest, OfTheProgramsTables) {
  Check("REFERENCE.md", "<!-- begin ", "<!-- end -->",
        {{"flags", Markdown(Flags())},
         {"variables", Markdown(Variables())},
         {"net-conf", Markdown(NetConfKeys())},
         {"annotations", Markdown(Annotations())},
         {"states", Markdown(States())},
         {"drops", Markdown(Drops())},
         {"metrics", Markdown(Metrics())},
         {"events", Markdown(Events())}});
}

TEST(ReferenceTest, TheEventLogsTextsAreThoseOfTheTable) {
  Check("control/service/events.mc", ";// begin ", ";// end", {{"events", MessageTable()}});
}

TEST(ManualTest, OfFlanneld) {
  Check("control/daemon/flanneld.8", ".\\\" begin ", ".\\\" end",
        {{"flags", Roff(Flags())},
         {"variables", Roff(Variables())},
         {"net-conf", Roff(NetConfKeys())},
         {"annotations", Roff(Annotations())}});
}

TEST(ManualTest, OfFlannelctl) {
  Check("control/cli/flannelctl.8", ".\\\" begin ", ".\\\" end",
        {{"verbs", RoffOfVerbs()}, {"states", Roff(States())}, {"drops", Roff(Drops())}});
}

// Every environment variable that a source reads is in the table.
TEST(VariableTest, EveryOneThatTheSourcesReadIsListed) {
  std::set<std::string> listed;
  for (const config::VariableRow& row : config::VariableTable()) listed.emplace(row.name);
  const std::regex read(R"re((?:environment|getenv|Find)\([^")]*"([A-Z][A-Z0-9_]+)")re");
  std::size_t found = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(fs::path(weft::testing::kSourceDir) / "control")) {
    const std::string path = entry.path().generic_string();
    // No shipped program reads the emulator's.
    if (entry.path().extension() != ".cc" || path.find("/emulator/") != std::string::npos) continue;
    const std::string text = ReadText(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), read); it != std::sregex_iterator();
         ++it) {
      ++found;
      EXPECT_TRUE(listed.contains(it->str(1))) << it->str(1) << " of " << entry.path();
    }
  }
  EXPECT_GE(found, 7u);
}

}  // namespace
}  // namespace weft
