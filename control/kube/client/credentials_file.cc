// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/credentials_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace weft::kube {
namespace {

absl::Status CannotOpen(std::string_view cause) {
  return absl::NotFoundError(absl::StrCat("cannot be opened: ", cause));
}

absl::StatusOr<std::string> Read(const std::filesystem::path& path) {
  std::error_code error;
  const auto found = std::filesystem::status(path, error);
  if (found.type() == std::filesystem::file_type::not_found)
    return CannotOpen("no such file or folder");
  if (error) return CannotOpen(error.message());
  // Opening a FIFO would wait for its writer.
  if (!std::filesystem::is_regular_file(found)) return CannotOpen("not a regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return CannotOpen(std::strerror(errno));
  std::string text;
  for (std::array<char, 4096> piece; file && text.size() <= kLargestCredentialsFile;) {
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return absl::UnavailableError("cannot be read");
  if (text.size() > kLargestCredentialsFile) {
    return absl::InvalidArgumentError(
        absl::StrCat("is larger than ", kLargestCredentialsFile >> 20, " MiB: a wrong file"));
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> ReadCredentialsFile(const std::string& path) {
  try {
    return Read(std::filesystem::path(std::u8string(path.begin(), path.end())));
  } catch (const std::exception&) {  // not UTF-8, or no memory
    return CannotOpen("its name cannot be used on this system");
  }
}

absl::StatusOr<std::string> ReadSecret(const Secret& secret, std::string_view what) {
  if (!secret.text.empty()) return secret.text;
  auto text = ReadCredentialsFile(secret.file);
  if (!text.ok()) {
    return absl::UnauthenticatedError(absl::StrCat("the ", what, " file ", secret.file, " ",
                                                   text.status().message(),
                                                   "; put it there or correct its path"));
  }
  if (absl::StripAsciiWhitespace(*text).empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the ", what, " file ", secret.file,
                                                   " is empty; write the ", what, " into it"));
  }
  return text;
}

}  // namespace weft::kube
