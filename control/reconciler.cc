// SPDX-License-Identifier: Apache-2.0
#include "control/reconciler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft::control {
namespace {

// Changes within a later snapshot are gathered for at least this long, or until its end: nodes
// arrive by the thousand then, and a subnet that one has lost may belong to the next.
constexpr Duration kSnapshotWindow = std::chrono::milliseconds(100);
// How often a condition that the limit suppressed is tried again.
constexpr Duration kConditionPeriod = std::chrono::minutes(1);
// How long deleted leases are counted before the log has how many it left out.
constexpr Duration kGonePeriod = std::chrono::seconds(10);
// The most pending items that one line names.
constexpr std::size_t kMaxItems = 3;

bool Takes(Families families, IpFamily family) {
  const auto bit = static_cast<unsigned>(family == IpFamily::kV4 ? Families::kV4 : Families::kV6);
  return (static_cast<unsigned>(families) & bit) != 0;
}

template <typename T>
void Append(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

bool IsReady(const lease::SinkReport& sink) {
  const bool takes_none = sink.applied == 0 && sink.desired > 1;
  return sink.settled && sink.pending.size() <= sink.failed + sink.stuck && !takes_none &&
         sink.applied + sink.failed >= sink.desired;
}

std::string Items(const std::vector<std::string>& items) {
  const std::size_t shown = std::min(items.size(), kMaxItems);
  std::string text =
      absl::StrJoin(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(shown), "; ");
  if (shown < items.size()) absl::StrAppend(&text, "; and ", items.size() - shown, " more");
  return text;
}

}  // namespace

Reconciler::Reconciler(const Clock& clock, Random random, ReconcilerHooks hooks,
                       ReconcilerOptions options)
    : clock_(clock),
      random_(std::move(random)),
      hooks_(std::move(hooks)),
      options_(std::move(options)) {}

bool Reconciler::Warn(LogLimit& limit, const std::string& line) const {
  const bool allowed = limit.Allows(WithoutNumbers(line), clock_.Now());
  if (allowed) Notice(Severity::kWarning, line);
  return allowed;
}

void Reconciler::LogItems(Attached& at, const std::vector<std::string>& items, bool& logged) const {
  logged =
      logged || items.empty() || Warn(at.limit, absl::StrCat(at.status.name, ": ", Items(items)));
}

void Reconciler::LogCondition() {
  condition_at_.reset();
  if (!condition_limit_.Allows(WithoutNumbers(*condition_), clock_.Now())) {
    condition_at_ = clock_.Now() + kConditionPeriod;
    return;
  }
  condition_logged_ = true;
  Notice(Severity::kError, *condition_);
}

void Reconciler::Settle(Attached& at, lease::SinkReport report) {
  const auto is_new = [](const auto& now, const auto& before, bool& logged) {
    if (now == before) return false;
    logged = false;
    return !now.empty();
  };
  const lease::SinkReport& before = at.status.report;
  is_new(report.pending, before.pending, at.pending_logged);
  if (is_new(report.notes, before.notes, at.notes_logged)) ++at.status.note_changes;
  if (is_new(report.refused, before.refused, at.refused_logged)) ++at.status.refusal_changes;
  if (at.restored == 0) at.restored_one = std::move(report.restored_one);
  at.restored += report.restored;
  at.status.report = std::move(report);
  if (at.restored > 0 && at.limit.Allows("restored", clock_.Now())) {
    const std::size_t more = std::exchange(at.restored, 0) - 1;
    Notice(Severity::kWarning, absl::StrCat(at.status.name, ": restored ", at.restored_one,
                                            more > 0 ? absl::StrCat(" and ", more, " more") : "",
                                            ", which another program or the system had removed"));
  }
  LogItems(at, at.status.report.notes, at.notes_logged);
  LogItems(at, at.status.report.refused, at.refused_logged);
  if (at.status.report.more) {
    at.retry_at = clock_.Now();
    return;
  }
  const auto& pending = at.status.report.pending;
  if (pending.empty()) {
    at.backoff.Reset();
    at.retry_at.reset();
    if (std::exchange(at.logged, false)) {
      Notice(Severity::kInfo, absl::StrCat(at.status.name, ": nothing pending any more, ",
                                           at.status.report.applied, " leases in place"));
    }
    return;
  }
  at.retry_at = clock_.Now() + at.backoff.Next();
  if (!at.pending_logged &&
      Warn(at.limit, absl::StrCat(at.status.name, ": ", pending.size(),
                                  " pending, will be tried again: ", Items(pending))))
    at.pending_logged = at.logged = true;
}

void Reconciler::Resync(Attached& at) {
  std::vector<lease::Peer> all;
  for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
    if (!Takes(at.status.families, family)) continue;
    std::vector<lease::Peer> half = InUse().Snapshot(family);
    if (all.empty()) {
      all = std::move(half);
    } else {
      all.insert(all.end(), std::make_move_iterator(half.begin()),
                 std::make_move_iterator(half.end()));
    }
  }
  at.status.resynced = true;
  Settle(at, at.sink->Resync(all));
}

void Reconciler::Flush() {
  flush_at_.reset();
  if (!Ready()) return;
  if (!resync_at_) resync_at_ = clock_.Now() + options_.resync_period;
  if (std::none_of(sinks_.begin(), sinks_.end(),
                   [](const Attached& at) { return at.status.resynced; })) {
    InUse().DropChanges();
    for (Attached& at : sinks_) Resync(at);
    return;
  }
  const lease::PeerChanges v4 = InUse().DrainChanges(IpFamily::kV4);
  const lease::PeerChanges v6 = InUse().DrainChanges(IpFamily::kV6);
  for (Attached& at : sinks_) {
    if (!at.status.resynced) {
      Resync(at);
      continue;
    }
    lease::PeerChanges changes;
    for (const auto& [family, half] :
         {std::pair(IpFamily::kV4, &v4), std::pair(IpFamily::kV6, &v6)}) {
      if (!Takes(at.status.families, family)) continue;
      Append(changes.upserts, half->upserts);
      Append(changes.removals, half->removals);
    }
    if (!changes.empty()) Settle(at, at.sink->Update(changes));
  }
}

void Reconciler::FlushSoon() {
  if (!source_synced_) return;
  const Duration window =
      in_snapshot_ ? std::max(options_.batch_window, kSnapshotWindow) : options_.batch_window;
  if (window == Duration::zero()) {
    Flush();
  } else if (!flush_at_) {
    flush_at_ = clock_.Now() + window;
  }
}

absl::Status Reconciler::Recall(
    const lease::OwnNode& node,
    absl::FunctionRef<absl::Status(absl::FunctionRef<void(const lease::Lease&)>)> leases) {
  auto recalled = std::make_unique<lease::LeaseTable>(options_.own, options_.now);
  absl::Status status = leases([&](const lease::Lease& lease) { recalled->Upsert(lease); });
  if (!status.ok()) return status;
  own_recalled_ = true;
  own_node_ = node;
  recalled_ = std::move(recalled);
  Changed();
  return status;
}

void Reconciler::SetOwn(lease::OwnIdentity own) {
  if (own_known_ && own == table_.own()) return;
  if (recalled_) recalled_->SetOwn(own);
  table_.SetOwn(std::move(own));
  own_known_ = true;
  if (source_synced_) LogAllStates();
  Flush();
  Changed();
}

void Reconciler::AddSink(lease::Sink& sink, Families families) {
  SinkStatus status;
  status.name = sink.name();
  status.kind = sink.kind();
  status.families = families;
  sinks_.push_back({&sink, Backoff(options_.retry, random_), std::nullopt, std::move(status)});
  Flush();
}

void Reconciler::RemoveSink(const lease::Sink& sink) {
  std::erase_if(sinks_, [&sink](const Attached& at) { return at.sink == &sink; });
}

void Reconciler::OnSinkReport(const lease::Sink& sink, lease::SinkReport report) {
  for (Attached& at : sinks_) {
    if (at.sink != &sink || !at.status.resynced) continue;
    Settle(at, std::move(report));
    return Changed();
  }
}

void Reconciler::Recheck(const lease::Sink& sink) {
  for (Attached& at : sinks_) {
    if (at.sink != &sink || !at.status.resynced) continue;
    Settle(at, at.sink->Retry());
    return Changed();
  }
}

void Reconciler::ResyncAll() {
  if (!Ready()) return;
  InUse().DropChanges();
  flush_at_.reset();
  for (Attached& at : sinks_) Resync(at);
  resync_at_ = clock_.Now() + options_.resync_period;
  Changed();
}

std::optional<TimePoint> Reconciler::NextDeadline() const {
  std::optional<TimePoint> next;
  const auto consider = [&next](const std::optional<TimePoint>& at) {
    if (at && (!next || *at < *next)) next = at;
  };
  consider(flush_at_);
  consider(resync_at_);
  consider(condition_at_);
  consider(gathered_at_);
  for (const Attached& at : sinks_) consider(at.retry_at);
  return next;
}

void Reconciler::Tick() {
  const TimePoint now = clock_.Now();
  const auto due = [now](const std::optional<TimePoint>& at) { return at && *at <= now; };
  if (due(condition_at_)) LogCondition();
  if (due(gathered_at_)) {
    gathered_at_.reset();
    log_.LogGathered();
  }
  if (due(resync_at_)) return ResyncAll();
  bool worked = false;
  if (due(flush_at_)) {
    Flush();
    worked = true;
  }
  for (Attached& at : sinks_) {
    if (!due(at.retry_at)) continue;
    Settle(at, at.sink->Retry());
    worked = true;
  }
  if (worked) Changed();
}

ReconcilerReport Reconciler::report() const {
  ReconcilerReport report;
  report.source_synced = source_synced_;
  report.ready = Ready() && !flush_at_;
  report.in_sync = report.ready && source_synced_;
  report.generation = generation();
  report.leases = table().size();
  report.refused = table_.refused();
  report.not_joined = table_.not_joined();
  report.condition = condition_;
  report.conditions_total = conditions_total_;
  for (const Attached& at : sinks_) {
    report.sinks.push_back(at.status);
    const lease::SinkReport& sink = at.status.report;
    // Once Ready() and flushed, every sink was resynced.
    if (!sink.settled || !sink.pending.empty() || sink.applied != sink.desired)
      report.in_sync = false;
    report.ready = report.ready && IsReady(sink);
  }
  return report;
}

void Reconciler::OnSnapshotBegin() {
  in_snapshot_ = true;
  table_.BeginSnapshot();
}

void Reconciler::OnSnapshotEnd() {
  in_snapshot_ = false;
  table_.EndSnapshot([this](const lease::NodeKey& node) { log_.GatherGone(node); });
  log_.LogGathered();
  const bool first = !source_synced_;
  source_synced_ = true;
  if (first) {
    Notice(Severity::kInfo,
           absl::StrCat("the source is in sync: ", table_.size(), " leases",
                        table_.not_joined() == 0 ? ""
                                                 : absl::StrCat(", ", table_.not_joined(),
                                                                " nodes that have not joined")));
  }
  if (log_.logged_all()) return;  // never true at the end of the first snapshot
  LogAllStates();
  if (recalled_) {
    former_generations_ = recalled_->generation() + 1;
    recalled_.reset();
    ResyncAll();
  }
  FlushSoon();
  Changed();
}

void Reconciler::OnUpsert(const lease::Lease& lease) {
  const std::uint64_t before = table_.lease_generation();
  if (table_.Upsert(lease)) {
    // A snapshot may change all leases: they are logged together at its end.
    if (!in_snapshot_ && own_known_) log_.LogNode(lease.node);
    FlushSoon();
  }
  ChangedSince(before);
}

void Reconciler::OnDelete(const lease::NodeKey& node) {
  const std::uint64_t before = table_.lease_generation();
  log_.GatherGone(node);
  if (!in_snapshot_ && !gathered_at_) gathered_at_ = clock_.Now() + kGonePeriod;
  if (table_.Remove(node)) FlushSoon();
  ChangedSince(before);
}

void Reconciler::OnRefused(const lease::RefusedNode& node) {
  if (!table_.Refuse(node)) return;
  if (in_snapshot_) {
    log_.GatherRefused(node);
  } else {
    log_.LogRefused(node);
  }
  Changed();
}

void Reconciler::OnNotJoined(const lease::NotJoinedNode& node) {
  // Our own Node joins as soon as we publish.
  if (node.node.name == table_.own().node_name || !table_.SetNotJoined(node)) return;
  if (in_snapshot_) {
    log_.GatherNotJoined(node);
  } else {
    log_.LogNotJoined(node);
  }
  Changed();
}

void Reconciler::OnCondition(const absl::Status& status) {
  if (status.ok()) {
    if (!condition_) return;
    condition_.reset();
    condition_at_.reset();
    if (std::exchange(condition_logged_, false))
      Notice(Severity::kInfo, "the lease source can be read again");
  } else {
    if (condition_ == status.message()) return;
    condition_ = std::string(status.message());
    ++conditions_total_;
    LogCondition();
  }
  Changed();
}

void Reconciler::OnOwnNode(const std::optional<lease::OwnNode>& node) {
  const bool was_recalled = std::exchange(own_recalled_, false);
  if (!was_recalled && node == own_node_) return;
  if (was_recalled && recalled_ && node && node->node.uid != own_node_->node.uid) {
    recalled_->BeginSnapshot();
    recalled_->EndSnapshot();  // without any
    Flush();
  }
  own_node_ = node;
  if (node) {
    for (const std::string& problem : node->problems)
      Notice(Severity::kWarning, absl::StrCat("our own node: ", problem));
  }
  if (hooks_.on_own_node) hooks_.on_own_node(own_node_);
  Changed();
}

}  // namespace weft::control
