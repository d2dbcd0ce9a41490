// SPDX-License-Identifier: Apache-2.0
#include "control/log_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"
#include "control/own_files.h"

namespace weft::control {
namespace {

namespace fs = std::filesystem;

// After a full disk a line may end in its middle.
void EndLastLine(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  char last = '\n';  // of an empty file
  file.seekg(-1, std::ios::end).get(last);
  if (last != '\n') std::ofstream(path, std::ios::binary | std::ios::app) << '\n';
}

}  // namespace

LogFileSink::LogFileSink(LogFile file)
    : file_(std::move(file)), path_(absl::StrCat(WithoutEndSlash(file_.folder), "/flanneld.log")) {}

std::string LogFileSink::Poll(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (!sink_ && (tried_ == TimePoint() || now - tried_ >= kRetry)) {
    tried_ = now;
    Open();
  }
  if (sink_) return {};
  return absl::StrCat("log file ", path_, ": ", cause_, "; ", missing_,
                      " lines are missing there; flanneld tries again");
}

void LogFileSink::Open() {
  absl::Status status = MakeOwnFolder(WithoutEndSlash(file_.folder)).status();
  if (status.ok()) status = SetForeignAside(path_).status();
  if (!status.ok()) return Fail(status.message());
  const fs::path path = PathOf(path_);
  std::error_code error;
  // A pipe would block, and a link may lead to any file.
  const fs::file_status is = fs::symlink_status(path, error);
  if (fs::exists(is) && !fs::is_regular_file(is))
    return Fail("it is no regular file; remove it, or choose another --log-dir");
  EndLastLine(path);
  spdlog::file_event_handlers handlers;
  handlers.after_open = [](const spdlog::filename_t& name, std::FILE*) {
    std::error_code ignored;
    fs::permissions(name, fs::perms(0640), ignored);
  };
  try {
    sink_ = std::make_unique<spdlog::sinks::rotating_file_sink_st>(
        path.native(), file_.bytes, file_.files - 1, /*rotate_on_open=*/false, handlers);
    sink_->set_formatter(formatter_->clone());
  } catch (const spdlog::spdlog_ex& failure) {
    return Fail(failure.what());
  }
  if (missing_ == 0) return;
  const std::string text = absl::StrCat(missing_, " lines are missing here: ", cause_);
  Write({"", spdlog::level::warn, text});
  if (sink_) missing_ = 0;
}

void LogFileSink::sink_it_(const spdlog::details::log_msg& message) {
  if (sink_) Write(message);
  if (!sink_) ++missing_;
}

void LogFileSink::Write(const spdlog::details::log_msg& message) {
  try {
    sink_->log(message);
    sink_->flush();
  } catch (const spdlog::spdlog_ex& failure) {
    Fail(failure.what());
  }
}

void LogFileSink::Fail(std::string_view cause) {
  cause_ = cause;
  if (cause.ends_with(std::generic_category().message(ENOSPC)))  // spdlog gives the text alone
    absl::StrAppend(&cause_, "; ", StepToWrite(absl::ResourceExhaustedError(""), "--log-dir"));
  sink_.reset();
}

void LogFileSink::set_formatter_(std::unique_ptr<spdlog::formatter> formatter) {
  if (sink_) sink_->set_formatter(formatter->clone());
  formatter_ = std::move(formatter);
}

}  // namespace weft::control
