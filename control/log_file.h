// SPDX-License-Identifier: Apache-2.0
// The log in a file, rotated by size. It never stops the log's other outputs: while the file
// cannot be written, its lines are counted and missing there.
#pragma once

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "control/clock.h"
#include "control/log.h"

namespace weft::control {

// Any thread.
class LogFileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  static constexpr Duration kRetry = std::chrono::seconds(10);

  explicit LogFileSink(LogFile file);

  // Opens the file if it is not open: at first, and every kRetry after a failure. Returns why it
  // cannot be written; empty: it can.
  std::string Poll(TimePoint now);

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}  // sink_it_ has
  void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override;

  void Open();
  void Write(const spdlog::details::log_msg& message);
  void Fail(std::string_view cause);

  const LogFile file_;
  const std::string path_;
  std::unique_ptr<spdlog::sinks::rotating_file_sink_st> sink_;  // null: not open
  std::string cause_;                                           // why not
  std::uint64_t missing_ = 0;                                   // lines
  TimePoint tried_{};
};

}  // namespace weft::control
