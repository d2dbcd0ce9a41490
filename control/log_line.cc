// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "control/log.h"
#include "nlohmann/json.hpp"

namespace weft::control {
namespace {

std::string_view BaseName(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

// Control characters as \xNN; UTF-8 stays.
std::string OneLine(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto octet = static_cast<unsigned char>(c);
    if (octet >= 0x20 && octet != 0x7f) {
      out.push_back(c);
    } else {
      absl::StrAppendFormat(&out, "\\x%02x", octet);
    }
  }
  return out;
}

char Letter(Severity severity) { return "IWE"[static_cast<int>(severity)]; }

std::string_view Word(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

}  // namespace

std::string Format(LogFormat format, const LogLine& line) {
  const absl::Time time = absl::FromUnixNanos(line.nanoseconds);
  if (format == LogFormat::kKlog) {
    return absl::StrFormat("%c%s %7d %s:%d] %s", Letter(line.severity),
                           absl::FormatTime("%m%d %H:%M:%E6S", time, absl::LocalTimeZone()),
                           line.pid, BaseName(line.file), line.line, OneLine(line.text));
  }
  nlohmann::ordered_json object;
  object["time"] = absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
  object["level"] = Word(line.severity);
  object["pid"] = line.pid;
  object["caller"] = absl::StrCat(BaseName(line.file), ":", line.line);
  object["message"] = line.text;
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace weft::control
