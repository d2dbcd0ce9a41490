// SPDX-License-Identifier: Apache-2.0
// Leases from a file (--lease-source=file:PATH) with the output of `kubectl get nodes -o json`,
// watched by polling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/kube/codec/node_codec_json.h"
#include "control/lease/source.h"
#include "control/sources/file_stamp.h"

namespace weft::control {

// One thread (control). It has no timers: call Poll about every 250 ms. A poll of an unchanged file
// only reads its metadata. Atomic renames and ConfigMap symlink swaps are followed. While the file
// is missing, empty or unreadable the leases stay, and OnCondition reports file, position, cause
// and next step, once for each new cause; the next valid content is reported as a snapshot.
class FileSource final : public lease::Source {
 public:
  // Larger files are refused: no cluster needs one, and the text is read into memory.
  static constexpr std::uintmax_t kMaxSize = std::uintmax_t{2} << 30;  // bytes

  FileSource(std::filesystem::path path, kube::NodeJsonCodec codec);

  // Polls once: when it returns, `listener` has received the first snapshot or the first condition.
  void Start(lease::SourceListener& listener) override;
  std::string Describe() const override;
  void Poll();
  // Of the last attempt to read. Ok: `listener` has the file's content.
  const absl::Status& status() const { return status_; }
  // Nodes without kube-subnet-manager "true" in the last valid content.
  std::size_t not_managed() const { return not_managed_; }

 private:
  absl::StatusOr<std::string> Read() const;
  absl::Status ReadAndReport();
  void SetStatus(absl::Status status);
  std::string Kept() const;  // for messages: whether earlier leases stay in use

  std::filesystem::path path_;
  kube::NodeJsonCodec codec_;
  lease::SourceListener* listener_ = nullptr;
  std::optional<FileStamp> stamp_;  // of the last attempt; empty: try again at the next poll
  // The content was read twice with the same stamp: the second read finds a write of the same size
  // that came within the clock's granularity after the first.
  bool settled_ = false;
  std::optional<std::size_t> text_hash_;  // of the content that was reported last
  absl::Status status_;
  std::size_t not_managed_ = 0;
};

}  // namespace weft::control
