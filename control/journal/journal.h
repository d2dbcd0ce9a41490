// SPDX-License-Identifier: Apache-2.0
// The last good state of this node's network, for a start while its source of leases is away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/lease/lease.h"
#include "control/lease/own_node.h"
#include "control/net_conf.h"

namespace weft::journal {

// What a state belongs to. Of another scope it is not used.
struct Scope {
  std::string boot;  // control::BootId(); empty: unknown
  // Our Node's name. Empty: not known yet; then `pod` decides.
  std::string node;
  std::string pod;       // "NAMESPACE/NAME" of flanneld's own pod; empty: unknown
  std::string source;    // where leases come from: "kubernetes", "file PATH"
  std::string net_conf;  // NetConfText
  friend bool operator==(const Scope&, const Scope&) = default;
};

// What all nodes share of net-conf: networks, backend, VNI, port.
std::string NetConfText(const control::NetConf& conf);

// The first line. All of the journal is public: each Node's annotations have it.
struct Header {
  Scope scope;
  std::int64_t saved = 0;  // Unix seconds
  // Our Node without the annotations' texts and problems; its MAC is the one that peers send to.
  lease::OwnNode own;
  friend bool operator==(const Header&, const Header&) = default;
};

struct State : Header {
  // The peers' halves in use, without the time of creation.
  std::vector<lease::Lease> leases;
  friend bool operator==(const State&, const State&) = default;
};

// Calls the function that it is given with each lease.
using ForEachLease = absl::FunctionRef<void(absl::FunctionRef<void(const lease::Lease&)>)>;

// A line of JSON for the header and one for each lease, so that a long journal is read and written
// line by line: 100,000 leases at once take 60 MB.
std::string Text(const Header& header, ForEachLease leases);
// The error names line, member and cause. FailedPrecondition: of another version of weft.
absl::StatusOr<State> Parse(std::string_view text);

// How `state` differs from what is desired, as a sentence; empty: it may be used.
std::string Difference(const Scope& state, const Scope& desired);

// The file journal.json in --state-dir. One thread (control). Errors name the file and the next
// step.
class Journal {
 public:
  // A larger file is not read, and not written: 100,000 leases need a quarter of it.
  static constexpr std::size_t kMostText = 64 << 20;  // bytes

  // `folder` (UTF-8) is created at the first Save.
  explicit Journal(const std::string& folder);
  const std::string& path() const { return path_; }

  // Empty: there is no file.
  absl::StatusOr<std::optional<State>> Load() const;
  // Replaces the file atomically; one of another user is set aside first.
  absl::Status Save(const Header& header, ForEachLease leases) const;

 private:
  const std::string folder_, path_;
};

}  // namespace weft::journal
