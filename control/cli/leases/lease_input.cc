// SPDX-License-Identifier: Apache-2.0
#include "control/cli/leases/lease_input.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "control/admin/admin_client.h"
#include "control/admin/lease_list.h"
#include "control/cli/parser.h"
#include "control/file_io.h"
#include "control/own_facts.h"
#include "control/sources/file_source.h"

namespace weft::cli {
namespace {

// Below the endpoint's longest wait. A poll that saw no change is repeated.
constexpr std::chrono::seconds kLongPoll{30};
// As often as flanneld polls its lease file.
constexpr std::chrono::milliseconds kFilePoll{250};

class DaemonInput : public LeaseInput {
 public:
  explicit DaemonInput(std::string endpoint) : client_(std::move(endpoint)) {}

  absl::StatusOr<admin::LeaseList> Read() override { return Remember(client_.ReadLeases()); }
  absl::StatusOr<admin::LeaseList> ReadNext() override {
    return Remember(client_.ReadLeasesAfter(generation_, kLongPoll));
  }

 private:
  absl::StatusOr<admin::LeaseList> Remember(absl::StatusOr<admin::LeaseList> list) {
    if (list.ok()) generation_ = list->generation;
    return list;
  }

  admin::AdminClient client_;
  std::uint64_t generation_ = 0;
};

// The file source feeds a lease table, as in flanneld.
class FileInput : public LeaseInput, private lease::SourceListener {
 public:
  FileInput(const LeaseOptions& options, kube::AnnotationKeys keys)
      : source_(control::PathOf(options.from),
                kube::NodeJsonCodec(std::move(keys), options.node_name)),
        node_name_(options.node_name) {
    own_.node_name = options.node_name;
    own_.vni = *Vni::From(options.vni);
    table_.SetOwn(own_);
  }

  absl::StatusOr<admin::LeaseList> Read() override {
    source_.Start(*this);
    if (!source_.status().ok()) return source_.status();
    // With a mistyped name every lease would be a peer's, and no frame could be explained.
    if (!node_name_.empty() && !found_own_) {
      const absl::Status none =
          control::NoSuchNode(node_name_, table_.NameInOtherCase(node_name_), "--node-name");
      return absl::NotFoundError(absl::StrCat(source_.Describe(), ": ", none.message()));
    }
    return List();
  }

  absl::StatusOr<admin::LeaseList> ReadNext() override {
    std::this_thread::sleep_for(kFilePoll);
    source_.Poll();
    return List();
  }

 private:
  admin::LeaseList List() const { return admin::ListLeases(table_, source_.Describe()); }

  void OnSnapshotBegin() override {
    types_.clear();
    table_.BeginSnapshot();
  }
  void OnSnapshotEnd() override {
    table_.EndSnapshot();
    const auto most = std::ranges::max_element(types_, {}, &Types::value_type::second);
    if (knows_type_ || most == types_.end()) return;
    own_.backend_type = most->first;
    table_.SetOwn(own_);
  }
  void OnUpsert(const lease::Lease& lease) override {
    ++types_[absl::AsciiStrToLower(lease.backend_type)];
    table_.Upsert(lease);
  }
  void OnDelete(const lease::NodeKey& node) override { table_.Remove(node); }
  void OnRefused(const lease::RefusedNode& node) override { table_.Refuse(node); }
  void OnNotJoined(const lease::NotJoinedNode& node) override { table_.SetNotJoined(node); }
  // Read checks the source's status; a watch waits until the file is complete again.
  void OnCondition(const absl::Status& /*status*/) override {}
  void OnOwnNode(const std::optional<lease::OwnNode>& node) override {
    found_own_ = node.has_value();
    knows_type_ = node && !node->backend_type.empty();
    if (knows_type_) own_.backend_type = node->backend_type;
    own_.v4.subnet = node ? node->v4.subnet : std::nullopt;
    own_.v6.subnet = node ? node->v6.subnet : std::nullopt;
    table_.SetOwn(own_);
  }

  control::FileSource source_;
  std::string node_name_;
  lease::OwnIdentity own_;
  lease::LeaseTable table_;
  bool found_own_ = false;
  // Leases are judged by the backend that our Node has published, else by that of most leases.
  using Types = std::map<std::string, std::size_t>;
  Types types_;
  bool knows_type_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LeaseInput>> OpenLeases(const LeaseOptions& options) {
  if (options.from.empty()) return std::make_unique<DaemonInput>(EndpointOf(options.admin));
  absl::StatusOr<kube::AnnotationKeys> keys = kube::AnnotationKeys::Of(options.annotation_prefix);
  if (!keys.ok()) return keys.status();
  if (!Vni::From(options.vni)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--vni ", options.vni, " does not fit into 24 bits; the largest is ", Vni::kMax));
  }
  return std::make_unique<FileInput>(options, *std::move(keys));
}

}  // namespace weft::cli
