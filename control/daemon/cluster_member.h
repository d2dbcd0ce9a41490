// SPDX-License-Identifier: Apache-2.0
// The daemon as a member of a Kubernetes cluster: it learns its node's name, reads the Nodes,
// publishes its own lease.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/clock.h"
#include "control/condition.h"
#include "control/config/options.h"
#include "control/daemon/event_loop.h"
#include "control/kube/client/api_call.h"
#include "control/kube/client/api_client.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/kube/publisher.h"
#include "control/lease/own_node.h"
#include "control/lease/source.h"
#include "control/log_limit.h"
#include "control/metrics/exposition.h"
#include "control/retry.h"
#include "control/sources/kube_source.h"

namespace weft::daemon {

// Control thread. Waits for what is missing, without limit; a condition names it.
class ClusterMember {
 public:
  // `loop`, `clock` and `options` outlive it. `on_name` is called once, from Start or later, before
  // the first Node is reported; `on_change` when published() or a condition differs.
  ClusterMember(EventLoop& loop, const control::Clock& clock, const config::Options& options,
                kube::ClusterServers servers, kube::AnnotationKeys keys,
                std::function<void(const std::string&)> on_name, std::function<void()> on_change);
  ~ClusterMember();
  ClusterMember(const ClusterMember&) = delete;
  ClusterMember& operator=(const ClusterMember&) = delete;

  void Start(lease::SourceListener& listener);
  // Our Node as last reported, and the annotations to publish in it (empty: not known yet).
  void Update(const std::optional<lease::OwnNode>& node, std::optional<kube::Publication> desired);
  void SetReady(bool ready);  // the node's network works
  // About every second. `source_fails`: the source reports a condition, which says more.
  void Poll(bool source_fails);

  std::string Describe() const;  // the source, for display
  // With why each is used or not.
  std::vector<kube::ServerState> Servers() const { return client_.Servers(); }
  std::vector<IpAddress> ServerAddresses() const { return client_.ServerAddresses(); }
  // Why our name is not known; empty when it is.
  const control::Condition& name_condition() const { return name_condition_; }
  const control::Condition& publish_condition() const { return publish_condition_; }
  const control::Condition& silence_condition() const { return silence_condition_; }
  kube::Silence silence() const;
  std::optional<control::TimePoint> synced_at() const;
  void AddMetrics(metrics::Exposition& exposition) const;
  bool published() const { return publisher_ && publisher_->published(); }

 private:
  void RequestName();
  void OnPod(const absl::StatusOr<kube::ApiAnswer>& answer);
  void OnName(const std::string& name);
  void Publish();
  void OnPatched(const absl::StatusOr<kube::ApiAnswer>& answer);

  EventLoop& loop_;
  const control::Clock& clock_;
  const config::Options& options_;
  const kube::AnnotationKeys keys_;
  const std::function<void(const std::string&)> on_name_;
  const std::function<void()> on_change_;
  kube::ApiClient client_;
  control::LogLimit switch_limit_;  // of lines about another server
  lease::SourceListener* listener_ = nullptr;
  Timer timer_;  // of the name's next try, then of the publisher
  control::Backoff name_backoff_;
  control::Condition name_condition_, publish_condition_, silence_condition_;
  std::uint64_t name_errors_ = 0, publish_errors_ = 0;
  std::unique_ptr<kube::Publisher> publisher_;  // once the name is known
  std::unique_ptr<control::KubeSource> source_;
  std::unique_ptr<kube::ApiCall> call_;  // last: ends first
};

}  // namespace weft::daemon
