// SPDX-License-Identifier: Apache-2.0
#include "control/reconciler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/log_limit.h"

namespace weft::control {
namespace {

// Changes within a later snapshot are gathered for at least this long, or until its end: the nodes
// come by the thousand then, and a subnet that one has lost the next may hold.
constexpr Duration kSnapshotWindow = std::chrono::milliseconds(100);
// How often a trouble that the limit holds back asks again.
constexpr Duration kTroublePeriod = std::chrono::minutes(1);
// Pending items that one line names.
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

struct Reconciler::Impl {
  struct Attached {
    lease::Sink* sink;
    Backoff backoff;
    std::optional<TimePoint> retry_at;
    SinkStatus status;
    LogLimit limit{};
    bool logged = false;  // that something is pending
    // As they are now: written, or nothing to write. What the limit holds back is asked for again.
    bool pending_told = true, refused_told = true, notes_told = true;
  };

  Impl(const Clock& the_clock, Random the_random, ReconcilerHooks the_hooks,
       ReconcilerOptions the_options)
      : clock(the_clock),
        random(std::move(the_random)),
        hooks(std::move(the_hooks)),
        options(the_options) {}

  bool Ready() const { return source_synced && own_known; }

  void Notice(Severity severity, const std::string& line) const {
    if (hooks.on_notice) hooks.on_notice(severity, line);
  }
  // Of a condition that may come, go and count every second.
  bool Warn(LogLimit& limit, const std::string& line) const {
    const bool allowed = limit.Allows(WithoutNumbers(line), clock.Now());
    if (allowed) Notice(Severity::kWarning, line);
    return allowed;
  }
  void Changed() const {
    if (hooks.on_change) hooks.on_change();
  }
  void ChangedSince(std::uint64_t generation) const {
    if (table.generation() != generation) Changed();
  }

  // Notes and refusals: written when they differ, as soon as the limit lets them.
  void Tell(Attached& at, const std::vector<std::string>& items, bool& told) const {
    told =
        told || items.empty() || Warn(at.limit, absl::StrCat(at.status.name, ": ", Items(items)));
  }
  void TellTrouble() {
    trouble_at.reset();
    if (!trouble_limit.Allows(WithoutNumbers(*trouble), clock.Now())) {
      trouble_at = clock.Now() + kTroublePeriod;
      return;
    }
    trouble_logged = true;
    Notice(Severity::kError, *trouble);
  }

  void Settle(Attached& at, lease::SinkReport report) {
    const auto is_new = [](const auto& now, const auto& before, bool& told) {
      if (now == before) return false;
      told = false;
      return !now.empty();
    };
    const lease::SinkReport& before = at.status.report;
    is_new(report.pending, before.pending, at.pending_told);
    if (is_new(report.notes, before.notes, at.notes_told)) ++at.status.notes_told;
    if (is_new(report.refused, before.refused, at.refused_told)) ++at.status.refusals_told;
    at.status.report = std::move(report);
    Tell(at, at.status.report.notes, at.notes_told);
    Tell(at, at.status.report.refused, at.refused_told);
    if (at.status.report.more) {
      at.retry_at = clock.Now();
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
    at.retry_at = clock.Now() + at.backoff.Next();
    if (!at.pending_told &&
        Warn(at.limit, absl::StrCat(at.status.name, ": ", pending.size(),
                                    " pending, will be tried again: ", Items(pending))))
      at.pending_told = at.logged = true;
  }

  void Resync(Attached& at) {
    std::vector<lease::Peer> all;
    for (const IpFamily family : {IpFamily::kV4, IpFamily::kV6}) {
      if (!Takes(at.status.families, family)) continue;
      std::vector<lease::Peer> half = table.Snapshot(family);
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

  // Sinks that know the truth get what changed; the others get the truth.
  void Flush() {
    flush_at.reset();
    if (!Ready()) return;
    if (!resync_at) resync_at = clock.Now() + options.resync_period;
    if (std::none_of(sinks.begin(), sinks.end(),
                     [](const Attached& at) { return at.status.resynced; })) {
      table.DropChanges();
      for (Attached& at : sinks) Resync(at);
      return;
    }
    const lease::PeerChanges v4 = table.TakeChanges(IpFamily::kV4);
    const lease::PeerChanges v6 = table.TakeChanges(IpFamily::kV6);
    for (Attached& at : sinks) {
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

  void FlushSoon() {
    if (!source_synced) return;
    const Duration window =
        in_snapshot ? std::max(options.batch_window, kSnapshotWindow) : options.batch_window;
    if (window == Duration::zero()) {
      Flush();
    } else if (!flush_at) {
      flush_at = clock.Now() + window;
    }
  }

  void TellAllStates() {
    if (own_known) log.TellAll();
  }

  const Clock& clock;
  Random random;
  ReconcilerHooks hooks;
  ReconcilerOptions options;
  lease::LeaseTable table{options.own, options.now};
  LeaseLog log{table, hooks.on_notice};
  std::optional<lease::OwnNode> own_node;
  bool own_known = false;
  bool source_synced = false;
  bool in_snapshot = false;
  std::optional<std::string> trouble;
  LogLimit trouble_limit;
  bool trouble_logged = false;
  std::optional<TimePoint> trouble_at;  // when it asks the limit again
  std::uint64_t troubles_total = 0;
  std::vector<Attached> sinks;
  std::optional<TimePoint> flush_at;
  std::optional<TimePoint> resync_at;
};

Reconciler::Reconciler(const Clock& clock, Random random, ReconcilerHooks hooks,
                       ReconcilerOptions options)
    : impl_(std::make_unique<Impl>(clock, std::move(random), std::move(hooks), options)) {}

Reconciler::~Reconciler() = default;

void Reconciler::SetOwn(lease::OwnIdentity own) {
  if (impl_->own_known && own == impl_->table.own()) return;
  impl_->table.SetOwn(std::move(own));
  impl_->own_known = true;
  if (impl_->source_synced) impl_->TellAllStates();
  impl_->Flush();
  impl_->Changed();
}

void Reconciler::AddSink(lease::Sink& sink, Families families) {
  SinkStatus status;
  status.name = sink.name();
  status.families = families;
  impl_->sinks.push_back(
      {&sink, Backoff(impl_->options.retry, impl_->random), std::nullopt, std::move(status)});
  impl_->Flush();
}

void Reconciler::RemoveSink(const lease::Sink& sink) {
  std::erase_if(impl_->sinks, [&sink](const Impl::Attached& at) { return at.sink == &sink; });
}

void Reconciler::OnSinkReport(const lease::Sink& sink, lease::SinkReport report) {
  for (Impl::Attached& at : impl_->sinks) {
    if (at.sink != &sink || !at.status.resynced) continue;
    impl_->Settle(at, std::move(report));
    return impl_->Changed();
  }
}

void Reconciler::Recheck(const lease::Sink& sink) {
  for (Impl::Attached& at : impl_->sinks) {
    if (at.sink != &sink || !at.status.resynced) continue;
    impl_->Settle(at, at.sink->Retry());
    return impl_->Changed();
  }
}

void Reconciler::ResyncAll() {
  if (!impl_->Ready()) return;
  impl_->table.DropChanges();
  impl_->flush_at.reset();
  for (Impl::Attached& at : impl_->sinks) impl_->Resync(at);
  impl_->resync_at = impl_->clock.Now() + impl_->options.resync_period;
  impl_->Changed();
}

std::optional<TimePoint> Reconciler::NextDeadline() const {
  std::optional<TimePoint> next;
  const auto consider = [&next](const std::optional<TimePoint>& at) {
    if (at && (!next || *at < *next)) next = at;
  };
  consider(impl_->flush_at);
  consider(impl_->resync_at);
  consider(impl_->trouble_at);
  for (const Impl::Attached& at : impl_->sinks) consider(at.retry_at);
  return next;
}

void Reconciler::Tick() {
  const TimePoint now = impl_->clock.Now();
  const auto due = [now](const std::optional<TimePoint>& at) { return at && *at <= now; };
  if (due(impl_->trouble_at)) impl_->TellTrouble();
  if (due(impl_->resync_at)) return ResyncAll();
  bool worked = false;
  if (due(impl_->flush_at)) {
    impl_->Flush();
    worked = true;
  }
  for (Impl::Attached& at : impl_->sinks) {
    if (!due(at.retry_at)) continue;
    impl_->Settle(at, at.sink->Retry());
    worked = true;
  }
  if (worked) impl_->Changed();
}

const lease::LeaseTable& Reconciler::table() const { return impl_->table; }

const std::optional<lease::OwnNode>& Reconciler::own_node() const { return impl_->own_node; }

bool Reconciler::source_synced() const { return impl_->source_synced; }

ReconcilerReport Reconciler::report() const {
  const Impl& my = *impl_;
  ReconcilerReport report;
  report.source_synced = my.source_synced;
  report.in_sync = report.ready = my.Ready() && !my.flush_at;
  report.generation = my.table.generation();
  report.leases = my.table.size();
  report.refused = my.table.refused();
  report.not_joined = my.table.not_joined();
  report.trouble = my.trouble;
  report.troubles_total = my.troubles_total;
  for (const Impl::Attached& at : my.sinks) {
    report.sinks.push_back(at.status);
    const lease::SinkReport& sink = at.status.report;
    // Once Ready() and flushed, each of them was resynced.
    if (!sink.settled || !sink.pending.empty() || sink.applied != sink.desired)
      report.in_sync = false;
    report.ready = report.ready && IsReady(sink);
  }
  return report;
}

void Reconciler::OnSnapshotBegin() {
  impl_->in_snapshot = true;
  impl_->table.BeginSnapshot();
}

void Reconciler::OnSnapshotEnd() {
  Impl& my = *impl_;
  my.in_snapshot = false;
  my.table.EndSnapshot();
  my.log.TellGathered();
  const bool first = !my.source_synced;
  my.source_synced = true;
  if (first) {
    my.Notice(Severity::kInfo, absl::StrCat("the source is in sync: ", my.table.size(), " leases",
                                            my.table.not_joined() == 0
                                                ? ""
                                                : absl::StrCat(", ", my.table.not_joined(),
                                                               " nodes that have not joined")));
  }
  if (my.log.has_told_all()) return;  // at the end of the first, nothing was logged yet
  my.TellAllStates();
  my.FlushSoon();
  my.Changed();
}

void Reconciler::OnUpsert(const lease::Lease& lease) {
  Impl& my = *impl_;
  const std::uint64_t before = my.table.generation();
  if (my.table.Upsert(lease)) {
    // A snapshot may change them all: they are told of together at its end.
    if (!my.in_snapshot && my.own_known) my.log.TellOf(lease.node);
    my.FlushSoon();
  }
  my.ChangedSince(before);
}

void Reconciler::OnDelete(const lease::NodeKey& node) {
  Impl& my = *impl_;
  const std::uint64_t before = my.table.generation();
  if (my.table.Remove(node)) {
    my.log.Forget(node);
    my.FlushSoon();
  }
  my.ChangedSince(before);
}

void Reconciler::OnRefused(const lease::RefusedNode& node) {
  Impl& my = *impl_;
  if (!my.table.Refuse(node)) return;
  if (my.in_snapshot) {
    my.log.GatherRefused(node);
  } else {
    my.log.TellRefused(node);
  }
  my.Changed();
}

void Reconciler::OnNotJoined(const lease::NotJoinedNode& node) {
  Impl& my = *impl_;
  // Ours joins as soon as we publish.
  if (node.node.name == my.table.own().node_name || !my.table.SetNotJoined(node)) return;
  if (my.in_snapshot) {
    my.log.GatherNotJoined(node);
  } else {
    my.log.TellNotJoined(node);
  }
  my.Changed();
}

void Reconciler::OnTrouble(const absl::Status& status) {
  if (status.ok()) {
    if (!impl_->trouble) return;
    impl_->trouble.reset();
    impl_->trouble_at.reset();
    if (std::exchange(impl_->trouble_logged, false))
      impl_->Notice(Severity::kInfo, "the lease source can be read again");
  } else {
    if (impl_->trouble == status.message()) return;
    impl_->trouble = std::string(status.message());
    ++impl_->troubles_total;
    impl_->TellTrouble();
  }
  impl_->Changed();
}

void Reconciler::OnOwnNode(const std::optional<lease::OwnNode>& node) {
  if (node == impl_->own_node) return;
  impl_->own_node = node;
  if (node) {
    for (const std::string& problem : node->problems) {
      impl_->Notice(Severity::kWarning, absl::StrCat("our own node: ", problem));
    }
  }
  if (impl_->hooks.on_own_node) impl_->hooks.on_own_node(impl_->own_node);
  impl_->Changed();
}

}  // namespace weft::control
