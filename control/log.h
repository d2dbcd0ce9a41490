// SPDX-License-Identifier: Apache-2.0
// The daemon's log on stderr and in a file: klog's line format, which log scrapers of Kubernetes
// nodes expect, or one JSON object a line.
//
//   I0112 15:04:05.000000    4711 daemon.cc:42] text
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

#include "control/clock.h"

namespace weft::control {

enum class LogFormat : std::uint8_t { kKlog, kJson };
enum class Severity : std::uint8_t { kInfo, kWarning, kError };

// FOLDER/flanneld.log, and flanneld.1.log, the one before; `files` in all, each of up to `bytes`.
struct LogFile {
  std::string folder;  // made if it is missing (MakeOwnFolder)
  std::uint64_t bytes = 0;
  std::size_t files = 1;
};

// Call once, before the first line. Lines of a level above `verbosity` (-v) are not written.
void StartLog(LogFormat format, std::int64_t verbosity, bool to_stderr = true,
              const std::optional<LogFile>& file = std::nullopt);

// Why the log file lacks lines, a sentence; empty: it does not, or there is none. Tries again every
// ten seconds to write it.
std::string PollLogFile(TimePoint now);

// Writes one line; line breaks and other control characters in `text` are escaped, so that no Node
// object can forge a line. A warning or error that was written within the last five minutes is not
// repeated. Any thread.
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
// Written with -v=LEVEL or higher.
void LogVerbose(std::int64_t level, std::string_view text,
                std::source_location where = std::source_location::current());

// The parts of a line. `nanoseconds` since 1970; `pid` of the process. For tests, and for Log.
struct LogLine {
  Severity severity = Severity::kInfo;
  std::int64_t nanoseconds = 0;
  std::uint64_t pid = 0;
  std::string_view file;  // with or without folders
  std::uint32_t line = 0;
  std::string_view text;
};
// The line without its line break. klog in local time, JSON in UTC.
std::string Format(LogFormat format, const LogLine& line);

}  // namespace weft::control
