// SPDX-License-Identifier: Apache-2.0
#include "control/cli/capture/capture_output.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/file_io.h"

namespace weft::cli {

CaptureOutput::CaptureOutput(const CaptureFiles& files, std::string preamble,
                             std::ostream& standard_output)
    : files_(files), preamble_(std::move(preamble)), standard_output_(standard_output) {}

std::string CaptureOutput::path() const {
  if (files_.path == "-") return "standard output";
  if (files_.file_size == 0) return files_.path;
  const std::size_t slash = files_.path.find_last_of("/\\");
  std::size_t dot = files_.path.rfind('.');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash))
    dot = files_.path.size();
  return absl::StrCat(files_.path.substr(0, dot), "-", number_, files_.path.substr(dot));
}

absl::Status CaptureOutput::Open() { return Begin(); }

absl::Status CaptureOutput::Begin() {
  if (files_.path != "-") {
    file_.close();
    file_.clear();
    errno = 0;
    file_.open(control::PathOf(path()), std::ios::binary | std::ios::trunc);
  }
  in_file_ = 0;
  return Put(preamble_);
}

absl::Status CaptureOutput::Put(std::string_view bytes) {
  std::ostream& out = files_.path == "-" ? standard_output_ : file_;
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  in_file_ += bytes.size();
  written_ += bytes.size();
  if (out) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "cannot write ", path(), errno != 0 ? absl::StrCat(": ", std::strerror(errno)) : "",
      "; check the path and the free space"));
}

absl::Status CaptureOutput::Write(std::string_view packet) {
  if (files_.file_size != 0 && in_file_ + packet.size() > files_.file_size &&
      in_file_ > preamble_.size()) {
    if (absl::Status status = Flush(); !status.ok()) return status;
    number_ = number_ % files_.files + 1;
    if (absl::Status status = Begin(); !status.ok()) return status;
  }
  return Put(packet);
}

absl::Status CaptureOutput::Flush() {
  (files_.path == "-" ? standard_output_ : file_).flush();
  return Put({});
}

}  // namespace weft::cli
