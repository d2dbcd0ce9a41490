// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/daemon.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/admin/endpoint.h"
#include "control/cni/installed_config.h"
#include "control/daemon/process.h"
#include "control/file_io.h"
#include "control/log.h"
#include "control/underlay/own_underlay.h"

namespace weft::daemon {
namespace {

using std::chrono::steady_clock;

constexpr auto kSourcePeriod = std::chrono::milliseconds(250);
constexpr auto kHousekeepingPeriod = std::chrono::seconds(1);
constexpr auto kRoundPause = std::chrono::milliseconds(50);
constexpr int kHostRounds = 5;    // the host's adapters are read in every fifth round
constexpr int kFactsRounds = 60;  // its default routes, where the system reports changes
constexpr int kRouteRounds = 9;   // our routes, where it may not; at least every 10 s
// Between readings of our routes, each of which reads all routes: they take at most a tenth of the
// time, unless a flushed route would then be missing for more than a second.
constexpr steady_clock::duration kRecheckPause = std::chrono::milliseconds(200);
constexpr steady_clock::duration kMostRecheckPause = std::chrono::seconds(1);
constexpr int kCheckShare = 50;  // of the time between checks of all leases: its part

// Of the health port, which every pod can reach: with those of flannelctl and the API server they
// stay within a service's limit of 1,024 open files.
constexpr std::size_t kHealthConnections = 256;
constexpr auto kHealthDeadline = std::chrono::seconds(3);

control::ReconcilerOptions WithKnown(const DaemonConfig& config) {
  control::OwnFacts known;
  known.node.name = config.options.node_name;
  control::ReconcilerOptions options;
  options.own = control::IdentityOf(known, config.conf);
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Make(EventLoop& loop, DaemonConfig config,
                                                     std::unique_ptr<host::Host> host) {
  absl::StatusOr<kube::AnnotationKeys> keys =
      kube::AnnotationKeys::Of(config.options.kube_annotation_prefix);
  if (!keys.ok()) {
    return absl::Status(keys.status().code(),
                        absl::StrCat("--kube-annotation-prefix: ", keys.status().message()));
  }
  return std::unique_ptr<Daemon>(
      new Daemon(loop, std::move(config), std::move(host), *std::move(keys)));
}

Daemon::Daemon(EventLoop& loop, DaemonConfig config, std::unique_ptr<host::Host> host,
               kube::AnnotationKeys keys)
    : loop_(loop),
      config_(std::move(config)),
      started_(control::UnixSecondsAt(steady_clock::now())),
      clock_(*config_.clock),
      reconciler_(clock_, control::SystemRandom(), Hooks(), WithKnown(config_)),
      node_name_(config_.options.node_name),
      source_timer_(loop),
      tick_timer_(loop),
      housekeeping_timer_(loop),
      schedule_timer_(loop),
      routes_timer_(loop),
      net_conf_(config_.options.net_config_path, config_.conf),
      host_(std::move(host)),
      ledger_(std::make_shared<ledger::NodeLedger>(config_.options.state_dir)),
      journal_(ledger_->folder()),
      hns_calls_(config_.hns ? std::make_shared<metrics::HnsCalls>(config_.hns) : nullptr),
      context_{config_.options,
               config_.conf,
               *host_,
               reconciler_,
               ledger_,
               hns_calls_,
               [this, alive = std::weak_ptr(alive_)] {
                 Post(alive, [this] {
                   network_.OnHnsChange();
                   Schedule();
                 });
               },
               [this, alive = std::weak_ptr(alive_)](const std::string& device,
                                                     const absl::Status& why) {
                 Post(alive, [this, device, why] { network_.CloseBroken(device, why); });
               },
               hns_calls_,
               hns_repairs_},
      network_(context_, config_.filter) {
  const config::Options& options = config_.options;
  ledger_->Open();  // its lock says that this flanneld runs
  if (config_.cluster) {
    member_ = std::make_unique<ClusterMember>(
        loop_, clock_, options, *config_.cluster, std::move(keys),
        [this](const std::string& name) { node_name_ = name; }, [this] { Schedule(); });
  } else {
    file_ = std::make_unique<control::FileSource>(
        control::PathOf(options.lease_file),
        kube::NodeJsonCodec(std::move(keys), options.node_name));
  }
}

Daemon::~Daemon() { Stop(); }

void Daemon::Post(std::weak_ptr<bool> alive, std::function<void()> task) {
  loop_.Post([alive = std::move(alive), task = std::move(task)] {
    const std::shared_ptr<bool> still = alive.lock();
    if (still && *still) task();
  });
}

control::ReconcilerHooks Daemon::Hooks() {
  control::ReconcilerHooks hooks;
  hooks.on_change = [this] { Schedule(); };
  hooks.on_own_node = [this](const std::optional<lease::OwnNode>&) { OnOwnNode(); };
  hooks.on_notice = [](control::Severity severity, const std::string& text) {
    control::Log(severity, text);
  };
  return hooks;
}

absl::Status Daemon::Start() {
  options_condition_.Set(config_.unprotected);
  CheckFiles();
  if (absl::Status status = OpenHealth(); !status.ok()) return status;
  if (absl::Status status = OpenAdmin(); !status.ok()) return status;
  Recall();
  if (member_) {
    member_->Start(reconciler_);
  } else {
    file_->Start(reconciler_);
    ArmSourcePoll();
  }
  DeriveFacts();
  net_conf_.Poll();
  ApplyFacts();
  Identify();
  Settle();
  ArmTick();
  ArmHousekeeping();
  WatchHost();
  return absl::OkStatus();
}

absl::Status Daemon::OpenHealth() {
  const std::optional<std::uint16_t> port = config_.options.healthz_port;
  if (health_ || !port) return absl::OkStatus();
  admin::HttpLimits limits;
  limits.connections = kHealthConnections;
  limits.deadline = kHealthDeadline;
  limits.any_method = true;
  auto health = std::make_unique<admin::HttpServer>(
      loop_.io(),
      HealthHandler([this] { return recent_checks_.At(steady_clock::now()); },
                    [this] { return recent_metrics_.At(steady_clock::now()); }),
      limits);
  const absl::StatusOr<std::uint16_t> bound = health->ListenTcp(config_.options.healthz_ip, *port);
  if (bound.ok()) {
    health_condition_.Set("");
    health_ = std::move(health);
    healthz_port_ = *bound;
    return absl::OkStatus();
  }
  const std::string message =
      absl::StrCat("health checks: ", bound.status().message(), " (--healthz-ip, --healthz-port)");
  if (absl::IsInvalidArgument(bound.status())) return absl::InvalidArgumentError(message);
  health_condition_.Set(absl::StrCat(message, "; flanneld tries again"));
  return absl::OkStatus();
}

absl::Status Daemon::OpenAdmin() {
  if (admin_ || !config_.options.admin) return absl::OkStatus();
  auto admin = std::make_unique<admin::AdminServer>(loop_.io(), *this);
  const absl::Status status = admin->Listen(*config_.options.admin);
  if (status.ok()) {
    admin_condition_.Set(admin->note());
    admin_ = std::move(admin);
    return status;
  }
  if (absl::IsInvalidArgument(status)) return status;
  admin_condition_.Set(absl::StrCat("flannelctl cannot reach this flanneld: ", status.message(),
                                    "; flanneld tries again"));
  return absl::OkStatus();
}

void Daemon::Stop() {
  if (stopped_) return;
  KeepJournal(/*last=*/true);
  stopped_ = true;
  *alive_ = false;
  watch_.reset();
  routes_watch_.reset();
  for (Timer* timer :
       {&source_timer_, &tick_timer_, &housekeeping_timer_, &schedule_timer_, &routes_timer_})
    timer->Cancel();
  member_.reset();
  network_.Close();
  admin_.reset();
  health_.reset();
}

std::string Daemon::DescribeSource() const {
  return member_ ? member_->Describe() : file_->Describe();
}

void Daemon::OnOwnNode() {
  CheckRecalled();
  DeriveFacts();
  Identify();
  Schedule();
}

void Daemon::Identify() {
  if (!facts_.ok() || !network_.claims()) return;
  lease::OwnIdentity own = control::IdentityOf(*facts_, config_.conf);
  own.v4.network = net_conf_.network_of(IpFamily::kV4);
  own.v6.network = net_conf_.network_of(IpFamily::kV6);
  needs_.Fill(own, *network_.claims(),
              member_ ? member_->ServerAddresses() : std::vector<IpAddress>(), clock_.Now());
  reconciler_.SetOwn(std::move(own));
}

void Daemon::DeriveFacts() {
  const std::optional<lease::OwnNode>& node = reconciler_.own_node();
  if (!node && !facts_.ok() && !reconciler_.source_synced()) return;  // not known to be missing
  facts_ = control::DeriveOwnFacts(
      node_name_, node, config_.conf, published_facts_,
      node ? std::string() : reconciler_.table().NameInOtherCase(node_name_));
  if (member_ && facts_.ok() && !reconciler_.is_own_recalled()) published_facts_ = *facts_;
}

void Daemon::ApplyFacts() {
  network_.Apply(facts_);
  applied_.reset();
  if (facts_.ok()) applied_.emplace(*facts_, reconciler_.is_recalled());
}

std::optional<kube::Publication> Daemon::DesiredPublication() const {
  if (!facts_.ok() || !network_.is_up()) return std::nullopt;
  control::OwnFacts facts = *facts_;
  if (const auto mac = network_.vtep_mac(); mac && facts.v4) facts.v4->vtep_mac = *mac;
  underlay::InterfaceChoice underlay = network_.plan()->underlay;
  for (std::optional<underlay::ChosenFamily>* half : {&underlay.v4, &underlay.v6}) {
    if (!*half) continue;
    const std::optional<IpAddress> address = network_.public_ip((*half)->address.family());
    if (!address) return std::nullopt;
    (*half)->public_ip = *address;
  }
  return underlay::PublicationOf(facts, config_.conf, underlay);
}

void Daemon::Schedule() {
  // Everything waits for the end of the first snapshot: its round is immediate.
  const bool first = !synced_ && reconciler_.source_synced();
  if (stopped_ || (scheduled_ && !first)) return;
  scheduled_ = true;
  synced_ = synced_ || first;
  const auto now = steady_clock::now();
  schedule_timer_.Set(first ? now : std::max(now, last_round_ + kRoundPause), [this] {
    scheduled_ = false;
    last_round_ = steady_clock::now();
    if (!facts_.ok()) DeriveFacts();
    ApplyFacts();
    Identify();
    Settle();
    ArmTick();
    rounds_took_.Add(steady_clock::now() - last_round_);
  });
}

void Daemon::ArmSourcePoll() {
  source_timer_.Set(steady_clock::now() + kSourcePeriod, [this] {
    file_->Poll();
    if (file_->status().ok()) file_read_at_ = clock_.Now();
    ArmSourcePoll();
  });
}

void Daemon::CheckFiles() {
  if (config_.cluster && config_.cluster->servers.front().exposed)
    credentials_condition_.Set(config_.cluster->servers.front().exposed());
  cni::NodeFacts node;
  if (config_.options.data_plane == config::DataPlane::kHns &&
      config_.conf.type != control::BackendType::kAlloc) {
    node.network = config_.conf.name;
    node.bridge = config_.conf.type == control::BackendType::kHostGw;
    if (facts_.ok() && facts_->v4) node.subnet = facts_->v4->subnet;
  }
  cni_condition_.Set(cni::WhyUnfit(ledger_->folder(), node));
}

void Daemon::ArmTick() {
  const std::optional<control::TimePoint> deadline = reconciler_.NextDeadline();
  if (!deadline) return tick_timer_.Cancel();
  tick_timer_.Set(*deadline, [this] {
    reconciler_.Tick();
    Schedule();
    ArmTick();
  });
}

void Daemon::ArmHousekeeping() {
  housekeeping_timer_.Set(steady_clock::now() + kHousekeepingPeriod, [this] {
    ++rounds_;
    if (std::exchange(release_memory_, false)) ReleaseFreeMemory();
    const bool unreported = !watch_ || host_->is_windows();
    if (config_.polls_host && rounds_ % kHostRounds == 0) {
      if (unreported || rounds_ % kFactsRounds == 0) network_.HostChanged();
      Schedule();
    }
    if (config_.polls_host && rounds_ % kRouteRounds == 0)
      network_.RecheckRoutes(/*all=*/unreported || !routes_watch_);
    OpenHealth().IgnoreError();
    OpenAdmin().IgnoreError();
    net_conf_.Poll();
    if (rounds_ % kHostRounds == 0) CheckFiles();
    Identify();
    CheckLeases();
    if (member_) member_->Poll(reconciler_.report().condition.has_value());
    log_condition_.Set(control::PollLogFile(steady_clock::now()));
    network_.Poll();
    if (network_.is_due(steady_clock::now())) Schedule();
    network_.PollPodRules(steady_clock::now());
    Settle();
    ReportHealth();
    KeepJournal(/*last=*/false);
    ArmHousekeeping();
  });
}

// In addition to the reading in every fifth round, which remains the only one where the system
// reports no changes.
void Daemon::WatchHost() {
  auto watch = host_->WatchChanges([this, alive = std::weak_ptr(alive_)] {
    Post(alive, [this] {
      if (!routes_watch_ || host_->is_windows()) network_.HostChanged();
      Schedule();
    });
  });
  if (watch.ok())
    watch_ = *std::move(watch);
  else
    control::LogInfo(absl::StrCat("the host is only read every 5 s: ", watch.status().message()));
  auto routes =
      host_->WatchRoutes([this, alive = std::weak_ptr(alive_)](const host::RouteChanges& changes) {
        // By pointer: the loop copies its tasks, and there may be thousands of changes.
        Post(alive, [this, all = std::make_shared<const host::RouteChanges>(changes)] {
          if (network_.RoutesChanged(*all)) RecheckRoutes();
          if (network_.host_changed()) Schedule();
        });
      });
  if (routes.ok())
    routes_watch_ = *std::move(routes);
  else
    control::LogInfo(absl::StrCat("routes are only read every ", kRouteRounds,
                                  " s: ", routes.status().message()));
}

void Daemon::RecheckRoutes() {
  if (stopped_ || recheck_scheduled_) return;
  recheck_scheduled_ = true;
  routes_timer_.Set(std::max(steady_clock::now(), next_recheck_), [this] {
    recheck_scheduled_ = false;
    const steady_clock::time_point begin = steady_clock::now();
    network_.RecheckRoutes(/*all=*/true);
    const steady_clock::duration took = steady_clock::now() - begin;
    next_recheck_ = begin + std::clamp(10 * took, kRecheckPause, kMostRecheckPause);
    ArmTick();
  });
}

void Daemon::CheckLeases() {
  const std::pair now{reconciler_.source_synced(), reconciler_.table().lease_generation()};
  const steady_clock::time_point begin = steady_clock::now();
  if (now == leases_seen_ || begin < next_check_) return;
  leases_seen_ = now;
  const lease::LeaseTable& table = reconciler_.table();
  vni_condition_.Set(VniCondition(config_.conf, table, now.first));
  mac_condition_.Set(now.first ? table.DuplicateMac() : "");
  std::string refused;
  if (now.first && reconciler_.own_node()) {
    for (const lease::LeaseRow& row : table.RowsOf(reconciler_.own_node()->node))
      absl::StrAppend(&refused, refused.empty() || row.detail.empty() ? "" : "; ", row.detail);
  }
  lease_condition_.Set(refused);
  next_check_ = begin + kCheckShare * (steady_clock::now() - begin);
}

// What the limit suppresses is counted in the line that follows.
void Daemon::LogRestored() {
  const hns::Repairs::Last last = hns_repairs_->ReadLast(clock_.Now());
  if (last.all == restored_logged_) return;
  const std::string line = last.Text();
  if (!limit_.Allows(control::WithoutNumbers(line), clock_.Now())) return;
  restored_logged_ = last.all;
  control::LogWarning(line);
}

void Daemon::Settle() {
  LogRestored();
  const control::ReconcilerReport report = reconciler_.report();
  network_.Settle(report.ready);
  if (admin_ && generation() != seen_generation_) {
    seen_generation_ = generation();
    control::LogVerbose(
        1, absl::StrCat("generation ", seen_generation_, ": ", report.leases, " leases"));
    admin_->LeasesChanged();
  }
  if (member_ && !reconciler_.is_own_recalled())
    member_->Update(reconciler_.own_node(), DesiredPublication());
  const std::vector<admin::Check> checks = Checks(report);
  const bool ready = AllOk(checks);
  if (member_) member_->SetReady(ready);
  if (ready == ready_) return;
  ready_ = ready;
  ReportHealth();
  const auto now = steady_clock::now();
  if (ready_) {
    release_memory_ = true;
    if (std::exchange(unready_logged_, false)) control::LogInfo("ready");
    return;
  }
  for (const admin::Check& check : checks) {
    const std::string line = absl::StrCat("not ready any more: ", check.name, ": ", check.text);
    if (check.ok || !limit_.Allows(control::WithoutNumbers(line), now)) continue;
    unready_logged_ = true;
    control::LogWarning(line);
  }
}

}  // namespace weft::daemon
