// SPDX-License-Identifier: Apache-2.0
// Leases from a file (--lease-source=file:PATH) that holds what `kubectl get nodes -o json` prints.
// Watched by polling.
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

// One thread (control); no timers of its own: call Poll every 250 ms or so. A poll of an unchanged
// file costs one look at its metadata. Atomic renames and ConfigMap symlink swaps are followed.
// While the file is gone, empty or unreadable the leases stay and OnCondition names file, position,
// cause and next step, once for each new cause; the next good content is a snapshot.
class FileSource final : public lease::Source {
 public:
  // Larger files are refused: nobody has such a cluster, and the text stands in memory.
  static constexpr std::uintmax_t kMaxSize = std::uintmax_t{2} << 30;  // bytes

  FileSource(std::filesystem::path path, kube::NodeJsonCodec codec);

  // Polls once: when it returns, `listener` has the first snapshot or the first trouble.
  void Start(lease::SourceListener& listener) override;
  std::string Describe() const override;
  void Poll();

  // Of the last attempt to read.
  const absl::Status& status() const { return status_; }
  // Nodes without kube-subnet-manager "true" in the last good content.
  std::size_t not_managed() const { return not_managed_; }

 private:
  absl::StatusOr<std::string> Read() const;
  absl::Status ReadAndReport();
  void SetStatus(absl::Status status);
  std::string Kept() const;  // for messages: what of an earlier content counts

  std::filesystem::path path_;
  kube::NodeJsonCodec codec_;
  lease::SourceListener* listener_ = nullptr;
  std::optional<FileStamp> stamp_;  // of the last attempt; empty: try again at the next poll
  // Read twice under one stamp: a writer that came within the clock's grain after the first read,
  // and kept the size, is seen by the second.
  bool settled_ = false;
  std::optional<std::size_t> text_hash_;  // of the content that is reported now
  absl::Status status_;
  std::size_t not_managed_ = 0;
};

}  // namespace weft::control
