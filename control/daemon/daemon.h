// SPDX-License-Identifier: Apache-2.0
// The composition root: creates every object of flanneld, owns it, and ends it.
//
//   file source, or cluster member ──► reconciler ──► sinks of each tunnel
//                      ▲                    │ own Node, changes
//      what peers read │                    ▼
//   of us: publication └── own facts ──► node network (tunnels, subnet.env) ──► ready
//
// Everything here lives on the control thread except one worker thread in each tunnel. Nothing
// blocks: what is missing (the lease file, the API server, our Node, its podCIDR, an interface) is
// tried again and reported in log, status and /readyz.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/admin/admin_server.h"
#include "control/clock.h"
#include "control/condition.h"
#include "control/config/options.h"
#include "control/daemon/cluster_member.h"
#include "control/daemon/event_loop.h"
#include "control/daemon/health.h"
#include "control/daemon/net_conf_check.h"
#include "control/host/host.h"
#include "control/host/packet_filter.h"
#include "control/journal/journal.h"
#include "control/kube/client/cluster_servers.h"
#include "control/ledger/node_ledger.h"
#include "control/log_limit.h"
#include "control/metrics/histogram.h"
#include "control/metrics/hns_calls.h"
#include "control/net_conf.h"
#include "control/node/node_network.h"
#include "control/own_facts.h"
#include "control/reconciler.h"
#include "control/service/supervisor.h"
#include "control/sources/file_source.h"
#include "control/underlay/host_needs.h"

namespace weft::daemon {

inline constexpr std::string_view kVersion = WEFT_VERSION;

struct DaemonConfig {
  config::Options options;
  control::NetConf conf;
  std::optional<kube::ClusterServers> cluster;  // with --kube-subnet-mgr
  std::shared_ptr<hns::Api> hns;                // with --dataplane=hns or --hns
  std::shared_ptr<host::PacketFilter> filter;   // null: pods are masqueraded by the CNI plugin
  // Of NodeConfig, with what ParseFlags warned of: for `status`. The caller has logged the notes.
  std::vector<std::string> notes{};
  std::string unprotected{};
  // For tests: false, the host is read only when it reports a change.
  bool polls_host = true;
  // For tests: one that may be ahead of the system's.
  std::shared_ptr<const control::Clock> clock = std::make_shared<control::SystemClock>();
  // Receives the daemon's health about once a second, and when it becomes ready or unready.
  std::function<void(const service::Health&)> on_health{};
};

class Daemon final : public admin::StateProvider {
 public:
  // `loop` outlives the daemon. The only error is an invalid --kube-annotation-prefix.
  static absl::StatusOr<std::unique_ptr<Daemon>> Make(EventLoop& loop, DaemonConfig config,
                                                      std::unique_ptr<host::Host> host);
  ~Daemon() override;

  // Opens health first, so that probes are answered while everything else waits; then admin,
  // source, and as much of the node's network as is known. Errors are those of the command line;
  // everything else is waited for, and nothing ends the daemon after this.
  absl::Status Start();
  // Removes the devices and the admin socket and stops answering; subnet.env stays. Idempotent,
  // takes less than a second.
  void Stop();
  std::uint16_t healthz_port() const { return healthz_port_; }  // zero: none
  std::vector<admin::Check> Checks() const { return Checks(reconciler_.report()); }
  admin::Status ReadStatus() override;
  admin::LeaseList ReadLeases() override;
  // The body of /metrics. Its cost grows with the number of leases where LeaseTable::Counts's does.
  std::string ReadMetrics() const;
  std::optional<absl::StatusOr<admin::Plan>> RequestPlan(const std::string& name,
                                                         bool repair) override;
  std::uint64_t generation() const override;

 private:
  Daemon(EventLoop& loop, DaemonConfig config, std::unique_ptr<host::Host> host,
         kube::AnnotationKeys keys);

  // On any thread: runs `task` on the control thread, unless the daemon has stopped by then.
  void Post(std::weak_ptr<bool> alive, std::function<void()> task);

  std::vector<admin::Check> Checks(const control::ReconcilerReport& report) const;
  std::vector<backend::NamedCondition> NamedConditions() const;
  // Those that last, of `report`'s sinks and of everything else, one for each subject.
  std::vector<admin::ConditionStatus> Conditions(const control::ReconcilerReport& report) const;
  void ReportHealth();
  control::ReconcilerHooks Hooks();
  std::string DescribeSource() const;
  void OnOwnNode();
  void DeriveFacts();
  void ApplyFacts();
  // Passes our identity and what this host needs to the reconciler, once both are known: leases
  // that are in use before would stay in use.
  void Identify();
  // What to publish of us, once the node's network is up.
  std::optional<kube::Publication> DesiredPublication() const;
  // Schedules a round that applies changes, outside the reconciler's calls; at most every 50 ms,
  // since a round compares everything.
  void Schedule();
  void ArmSourcePoll();
  void ArmTick();
  void ArmHousekeeping();
  void WatchHost();
  // Soon; at most five times a second, since that reads all routes.
  void RecheckRoutes();
  // Called again until each is open: another program may have the address for a while. Errors are
  // those of the command line.
  absl::Status OpenHealth();
  absl::Status OpenAdmin();
  // daemon_journal.cc. What the journal belongs to; `node` may be empty.
  journal::Scope JournalScope(const std::string& node) const;
  // The journal's leases are of use: what they make ends with the process.
  bool RecallsLeases() const;
  // Before the source starts: uses the journal, if it is of this boot and this configuration.
  void Recall();
  // Our Node was reported: drops a journal of a Node that was deleted since.
  void CheckRecalled();
  // Writes the journal if its content has changed, but seldom; `last`: the process ends.
  void KeepJournal(bool last);
  // What remains in force while the source has not answered; empty: it has, or there is no journal.
  std::string RecalledText() const;
  // Conditions that follow from the leases; at most a fiftieth of the time is spent on them.
  void CheckLeases();
  // Whether the CNI configuration is for the node's network, and who may change our credentials.
  void CheckFiles();
  // Logs what HNS lost and flanneld restored.
  void LogRestored();
  // Reports the state of the sinks to the node's network, the API server and admin clients; logs
  // readiness.
  void Settle();

  EventLoop& loop_;
  const DaemonConfig config_;
  const std::int64_t started_;                                  // Unix seconds
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // posted tasks check it first
  const control::Clock& clock_;
  control::Reconciler reconciler_;
  // Where leases come from: one of the two.
  std::unique_ptr<control::FileSource> file_;
  std::unique_ptr<ClusterMember> member_;
  std::string node_name_;  // empty: the API server has not answered yet
  std::unique_ptr<admin::HttpServer> health_;
  std::unique_ptr<admin::AdminServer> admin_;
  control::Condition health_condition_, admin_condition_, journal_condition_, cni_condition_;
  RecentChecks recent_checks_{[this] { return Checks(); }};
  Recent<std::string> recent_metrics_{[this] { return ReadMetrics(); }};
  metrics::Histogram rounds_took_;                  // of Schedule
  std::optional<control::TimePoint> file_read_at_;  // the lease file, last, without an error
  Timer source_timer_, tick_timer_, housekeeping_timer_, schedule_timer_, routes_timer_;

  absl::StatusOr<control::OwnFacts> facts_ =
      absl::UnavailableError("the source of leases has not been read yet");
  // Those of the last round, and whether recalled leases were in use in it.
  std::optional<std::pair<control::OwnFacts, bool>> applied_;
  std::optional<control::OwnFacts> published_facts_;  // the last valid ones, where we publish them
  NetConfFile net_conf_;
  underlay::HostNeeds needs_;
  const std::unique_ptr<host::Host> host_;
  const std::shared_ptr<ledger::NodeLedger> ledger_;
  const journal::Journal journal_;
  std::optional<journal::Header> recalled_;  // of the journal that is used
  // As written last: the leases' generation, or zero, and the rest; and when to compare it again.
  std::optional<std::pair<std::uint64_t, journal::Header>> journaled_;
  std::chrono::steady_clock::time_point next_journal_{};
  const std::shared_ptr<metrics::HnsCalls> hns_calls_;  // null: HNS is not programmed
  const std::shared_ptr<hns::Repairs> hns_repairs_ = std::make_shared<hns::Repairs>();
  const backend::Context context_;
  node::NodeNetwork network_;
  std::unique_ptr<host::Watch> watch_, routes_watch_;  // of `host_`
  control::Condition vni_condition_, mac_condition_, lease_condition_, log_condition_,
      credentials_condition_, options_condition_;
  // As CheckLeases saw it last: whether in sync, and the leases' generation; and when it may again.
  std::pair<bool, std::uint64_t> leases_seen_;
  std::chrono::steady_clock::time_point next_check_{};
  bool scheduled_ = false;
  bool recheck_scheduled_ = false;  // of the routes
  bool synced_ = false;             // a round for the first snapshot's end has been scheduled
  bool stopped_ = false;
  bool ready_ = false;           // as last logged
  bool release_memory_ = false;  // by the next housekeeping
  std::uint16_t healthz_port_ = 0;
  std::uint64_t seen_generation_ = 0;
  // Plan requests of the admin endpoint, oldest first; at most 16.
  struct PlanRequest {
    std::string name;
    std::optional<absl::StatusOr<admin::Plan>> plan{};  // empty: HNS has not answered
  };
  std::list<PlanRequest> plans_;
  std::chrono::steady_clock::time_point last_round_{};    // of Schedule
  std::chrono::steady_clock::time_point next_recheck_{};  // of RecheckRoutes, not before
  int rounds_ = 0;                                        // of housekeeping
  control::LogLimit limit_;                               // of ready, not ready, and restored
  std::uint64_t restored_logged_ = 0;                     // Repairs::Last::all
  bool unready_logged_ = true;                            // true: the first "ready" is logged
};

}  // namespace weft::daemon
