// SPDX-License-Identifier: Apache-2.0
#include "control/sources/file_source.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

namespace weft::control {

FileSource::FileSource(std::filesystem::path path, kube::NodeJsonCodec codec)
    : path_(std::move(path)), codec_(std::move(codec)) {}

void FileSource::Start(lease::SourceListener& listener) {
  listener_ = &listener;
  Poll();
}

std::string FileSource::Describe() const {
  const std::u8string text = path_.u8string();
  return absl::StrCat("file ", std::string(text.begin(), text.end()));
}

std::string FileSource::Kept() const {
  return text_hash_ ? "; the leases read before stay in use" : "";
}

void FileSource::Poll() {
  const auto stamp = StampOf(path_);
  if (!stamp.ok()) {
    stamp_.reset();
    SetStatus(absl::Status(stamp.status().code(),
                           absl::StrCat("lease ", Describe(), " ", stamp.status().message(), Kept(),
                                        "; put the file back")));
    return;
  }
  const bool same = stamp_ == *stamp;
  if (same && settled_) return;
  settled_ = same;
  stamp_ = *stamp;
  SetStatus(ReadAndReport());
}

absl::StatusOr<std::string> FileSource::Read() const {
  std::ifstream file(path_, std::ios::binary | std::ios::ate);
  if (!file) {
    return absl::UnavailableError(
        absl::StrCat("cannot be opened: ", std::strerror(errno), "; check its permissions"));
  }
  const auto size = static_cast<std::uintmax_t>(file.tellg());
  if (size > kMaxSize) {
    return absl::ResourceExhaustedError(
        absl::StrCat("has ", size, " bytes, more than ", kMaxSize, "; is it the right file?"));
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  file.seekg(0).read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad())
    return absl::UnavailableError(absl::StrCat("cannot be read: ", std::strerror(errno)));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

absl::Status FileSource::ReadAndReport() {
  const auto text = Read();
  if (!text.ok()) {
    stamp_.reset();
    return absl::Status(text.status().code(),
                        absl::StrCat("lease ", Describe(), " ", text.status().message()));
  }
  const std::size_t hash = absl::HashOf(*text);
  if (text_hash_ == hash) return absl::OkStatus();
  auto nodes = codec_.DecodeNodeList(*text);
  if (!nodes.ok()) {
    return absl::Status(
        nodes.status().code(),
        absl::StrCat("lease ", Describe(), ": ", nodes.status().message(), Kept(),
                     "; correct the file, as `kubectl get nodes -o json` writes it"));
  }
  text_hash_ = hash;
  not_managed_ = nodes->not_managed;
  listener_->OnOwnNode(nodes->own);
  listener_->OnSnapshotBegin();
  for (const lease::Lease& lease : nodes->leases) listener_->OnUpsert(lease);
  for (const lease::NotJoinedNode& node : nodes->not_joined) listener_->OnNotJoined(node);
  for (const lease::RefusedNode& node : nodes->refused) listener_->OnRefused(node);
  listener_->OnSnapshotEnd();
  return absl::OkStatus();
}

void FileSource::SetStatus(absl::Status status) {
  if (status == status_) return;
  status_ = std::move(status);
  listener_->OnCondition(status_);
}

}  // namespace weft::control
