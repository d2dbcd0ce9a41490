// SPDX-License-Identifier: Apache-2.0
// The daemon's log on stderr: klog's line format, which log scrapers of Kubernetes nodes expect, or
// one JSON object a line.
//
//   I0112 15:04:05.000000    4711 daemon.cc:42] text
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

namespace weft::control {

enum class LogFormat : std::uint8_t { kKlog, kJson };
enum class Severity : std::uint8_t { kInfo, kWarning, kError };

// Before the first line, once. Lines of a level above `verbosity` (-v) are left out.
void StartLog(LogFormat format, std::int64_t verbosity);

// One line; line breaks and other control characters in `text` are escaped, so that no Node object
// can forge a line. A warning or error that was written within the last five minutes is left out.
// Any thread.
void Log(Severity severity, std::string_view text,
         std::source_location where = std::source_location::current());

inline void LogInfo(std::string_view text,
                    std::source_location where = std::source_location::current()) {
  Log(Severity::kInfo, text, where);
}
inline void LogWarning(std::string_view text,
                       std::source_location where = std::source_location::current()) {
  Log(Severity::kWarning, text, where);
}
inline void LogError(std::string_view text,
                     std::source_location where = std::source_location::current()) {
  Log(Severity::kError, text, where);
}
// Shown from -v=LEVEL on.
void LogVerbose(std::int64_t level, std::string_view text,
                std::source_location where = std::source_location::current());

// What a line looks like. `nanoseconds` since 1970; `pid` the process. For tests, and for Log.
struct LogLine {
  Severity severity = Severity::kInfo;
  std::int64_t nanoseconds = 0;
  std::uint64_t pid = 0;
  std::string_view file;  // with or without folders
  std::uint32_t line = 0;
  std::string_view text;
};
// Without the line's end. klog in local time, JSON in UTC.
std::string Format(LogFormat format, const LogLine& line);

}  // namespace weft::control
