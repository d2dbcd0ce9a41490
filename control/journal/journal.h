// SPDX-License-Identifier: Apache-2.0
// The last good state of this node's network, for a start while its source of leases is away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <set>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/file_io.h"
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
  // kube::ClusterKeys. Empty: not known.
  std::set<std::string> cluster{};
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
  std::optional<std::int64_t> leases{};  // how many follow; empty: they are not kept
  friend bool operator==(const Header&, const Header&) = default;
};

// Receives the peers' halves in use, without the time of creation.
using Visit = absl::FunctionRef<void(const lease::Lease&)>;
// Calls the function that it is given with each lease.
using ForEachLease = absl::FunctionRef<void(Visit)>;

// Passes on the text, in pieces: a line of JSON for the header and one for each lease. 100,000
// leases at once take 60 MB. `leases` is called twice, because the header has their number; empty:
// they are not kept.
void Write(const Header& header, std::optional<ForEachLease> leases, control::TextSink append);
// Reads the header and, if there is a `visit`, the leases; those that it received before an error
// are void. The error names line, member and cause.
absl::StatusOr<Header> Read(std::istream& text, std::optional<Visit> visit = std::nullopt);

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

  // As Read. Empty: there is no file. Unimplemented: of a later version.
  absl::StatusOr<std::optional<Header>> Load(std::optional<Visit> visit = std::nullopt) const;
  // As Write, but nothing of an unknown boot. Replaces the file atomically; one of another user is
  // set aside first, one of a later version (Unimplemented) or that cannot be read stays.
  absl::Status Save(const Header& header, std::optional<ForEachLease> leases = std::nullopt) const;

 private:
  const std::string folder_, path_;
};

}  // namespace weft::journal
