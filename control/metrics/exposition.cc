// SPDX-License-Identifier: Apache-2.0
#include "control/metrics/exposition.h"

#include <array>
#include <cassert>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace weft::metrics {
namespace {

const MetricRow& RowOf(Metric metric) { return MetricTable()[static_cast<std::size_t>(metric)]; }

// The shortest text that reads as the same number.
std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

// `le` empty: not a bucket.
void AppendSample(std::string& out, Metric metric, std::string_view suffix,
                  Exposition::Values values, std::string_view le, std::string_view number) {
  const MetricRow& row = RowOf(metric);
  absl::StrAppend(&out, row.name, suffix);
  char before = '{';
  const auto append = [&](std::string_view name, std::string_view value) {
    absl::StrAppend(&out, std::string_view(&before, 1), name, "=\"", EscapedLabel(value), "\"");
    before = ',';
  };
  std::size_t label = 0;
  for (const std::string_view value : values) append(row.labels[label++], value);
  assert(label == kMostLabels || row.labels[label].empty());
  if (!le.empty()) append("le", le);
  absl::StrAppend(&out, before == ',' ? "} " : " ", number, "\n");
}

// The length of the character at the start of `text` if that is valid UTF-8, else 0.
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool beyond = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

std::string EscapedLabel(std::string_view value) {
  std::string out;
  out.reserve(value.size());
  while (!value.empty()) {
    const std::size_t length = Utf8Length(value);
    const std::string_view character = value.substr(0, length == 0 ? 1 : length);
    if (length == 0)
      out += "\xef\xbf\xbd";
    else if (character == "\n")
      out += "\\n";
    else if (character == "\\" || character == "\"")
      absl::StrAppend(&out, "\\", character);
    else
      out += character;
    value.remove_prefix(character.size());
  }
  return out;
}

void Exposition::Add(Metric metric, Values labels, std::uint64_t value) {
  AppendSample(samples_[static_cast<std::size_t>(metric)], metric, "", labels, "",
               absl::StrCat(value));
}

void Exposition::AddReal(Metric metric, Values labels, double value) {
  AppendSample(samples_[static_cast<std::size_t>(metric)], metric, "", labels, "", Number(value));
}

void Exposition::AddHistogram(Metric metric, Values labels, const Histogram& histogram) {
  std::string& out = samples_[static_cast<std::size_t>(metric)];
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    count += histogram.counts()[i];
    const bool last = i == Histogram::kBounds.size();
    AppendSample(out, metric, "_bucket", labels, last ? "+Inf" : Number(Histogram::kBounds[i]),
                 absl::StrCat(count));
  }
  AppendSample(out, metric, "_sum", labels, "", Number(histogram.sum()));
  AppendSample(out, metric, "_count", labels, "", absl::StrCat(count));
}

std::string Exposition::Text() const {
  std::string out;
  for (std::size_t i = 0; i < kMetrics; ++i) {
    if (samples_[i].empty()) continue;
    const MetricRow& row = MetricTable()[i];
    absl::StrAppend(&out, "# HELP ", row.name, " ", row.help, "\n# TYPE ", row.name, " ",
                    Name(row.type), "\n", samples_[i]);
  }
  return out;
}

}  // namespace weft::metrics
