// SPDX-License-Identifier: Apache-2.0
#include "control/log.h"

#include <spdlog/details/os.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "control/log_file.h"
#include "control/log_limit.h"
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
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out.push_back(c);
    } else {
      absl::StrAppendFormat(&out, "\\x%02x", byte);
    }
  }
  return out;
}

char Letter(Severity severity) { return "IWE"[static_cast<int>(severity)]; }

constexpr std::string_view kWords[] = {"info", "warning", "error"};
std::string_view Word(Severity severity) { return kWords[static_cast<std::size_t>(severity)]; }

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

namespace {

Severity SeverityOf(spdlog::level::level_enum level) {
  if (level >= spdlog::level::err) return Severity::kError;
  return level == spdlog::level::warn ? Severity::kWarning : Severity::kInfo;
}

spdlog::level::level_enum LevelOf(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return spdlog::level::info;
    case Severity::kWarning:
      return spdlog::level::warn;
    case Severity::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// Gives the same format to what other folders log through spdlog.
class LineFormatter final : public spdlog::formatter {
 public:
  explicit LineFormatter(LogFormat format) : format_(format) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    using std::chrono::duration_cast;
    LogLine line;
    line.severity = SeverityOf(message.level);
    line.nanoseconds =
        duration_cast<std::chrono::nanoseconds>(message.time.time_since_epoch()).count();
    line.pid = static_cast<std::uint64_t>(spdlog::details::os::pid());
    line.file = message.source.empty() ? "?" : message.source.filename;
    line.line = static_cast<std::uint32_t>(message.source.line);
    line.text = std::string_view(message.payload.data(), message.payload.size());
    const std::string text = Format(format_, line);
    out.append(text.data(), text.data() + text.size());
    out.push_back('\n');
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(format_);
  }

 private:
  LogFormat format_;
};

// Keeps a warning or error of any part from being repeated for some minutes. Condition does the
// same for sentences that differ only in their numbers.
class Repeats {
 public:
  bool Allow(std::string_view text) {
    const std::lock_guard lock(mutex_);
    return limit_.Allows(text, std::chrono::steady_clock::now());
  }
  void Forget() {
    const std::lock_guard lock(mutex_);
    limit_ = {};
  }

 private:
  std::mutex mutex_;
  control::LogLimit limit_;
};

Repeats& Warnings() {
  static Repeats repeats;
  return repeats;
}

std::shared_ptr<LogFileSink>& FileSink() {
  static std::shared_ptr<LogFileSink> sink;
  return sink;
}

std::int64_t& Verbosity() {
  static std::int64_t verbosity = 0;
  return verbosity;
}

}  // namespace

void StartLog(LogFormat format, std::int64_t verbosity, bool to_stderr,
              const std::optional<LogFile>& file) {
  Verbosity() = verbosity;
  Warnings().Forget();
  std::vector<spdlog::sink_ptr> sinks;
  if (to_stderr) sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  FileSink() = file ? std::make_shared<LogFileSink>(*file) : nullptr;
  if (FileSink()) sinks.push_back(FileSink());
  auto logger = std::make_shared<spdlog::logger>("", sinks.begin(), sinks.end());
  logger->set_formatter(std::make_unique<LineFormatter>(format));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
  PollLogFile(std::chrono::steady_clock::now());
}

std::string PollLogFile(TimePoint now) { return FileSink() ? FileSink()->Poll(now) : ""; }

void Log(Severity severity, std::string_view text, std::source_location where) {
  if (severity != Severity::kInfo && !Warnings().Allow(text)) return;
  const spdlog::source_loc location(where.file_name(), static_cast<int>(where.line()),
                                    where.function_name());
  spdlog::default_logger_raw()->log(location, LevelOf(severity),
                                    spdlog::string_view_t(text.data(), text.size()));
}

void LogVerbose(std::int64_t level, std::string_view text, std::source_location where) {
  if (level <= Verbosity()) Log(Severity::kInfo, text, where);
}

}  // namespace weft::control
