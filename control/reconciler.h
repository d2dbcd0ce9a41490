// SPDX-License-Identifier: Apache-2.0
// From source to sinks: keeps the lease table, passes changes to each sink, tries again what
// failed, reports the state.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/clock.h"
#include "control/lease/lease_table.h"
#include "control/lease/sink.h"
#include "control/lease/source.h"
#include "control/lease_log.h"
#include "control/log_limit.h"
#include "control/retry.h"

namespace weft::control {

// Which families a sink takes.
enum class Families : std::uint8_t { kV4 = 1, kV6 = 2, kBoth = 3 };

struct ReconcilerOptions {
  RetryPolicy retry{};
  // Every sink reads back what is there this often, so that what others broke is mended.
  Duration resync_period = std::chrono::minutes(5);
  // Events are gathered for this long before sinks see them; zero: at once.
  Duration batch_window = Duration::zero();
  // What is known of us before SetOwn: if that adds but the subnets, leases are judged once.
  lease::OwnIdentity own;
  lease::LeaseTable::Now now{};  // Unix seconds; the system's unless given
};

// All called on the control thread, from within a call of the reconciler. They may read its report;
// they may not change it, except that on_own_node may call SetOwn and AddSink.
struct ReconcilerHooks {
  std::function<void()> on_change;  // something that report() shows may differ
  std::function<void(const std::optional<lease::OwnNode>&)>
      on_own_node;     // our Node changed, or went (empty)
  OnNotice on_notice;  // for the log
};

struct SinkStatus {
  std::string name;
  Families families = Families::kBoth;
  bool resynced = false;  // has been given the first complete truth
  lease::SinkReport report;
  std::uint64_t refusals_told = 0;  // how often what it refuses began or changed
  std::uint64_t notes_told = 0;     // how often its notes began or changed
};

// Costs nothing that grows with the leases: states and refused nodes are in the table.
struct ReconcilerReport {
  bool source_synced = false;  // the first snapshot has come
  // The source is synced, we know who we are, and every sink holds what it should.
  bool in_sync = false;
  // The same but for single entries that a sink refuses while it takes others: each was tried. A
  // sink that fails as a whole, takes none of several, or has not answered yet is not ready.
  bool ready = false;
  std::uint64_t generation = 0;  // moves with every change of the leases
  std::size_t leases = 0;
  std::size_t refused = 0;               // nodes
  std::size_t not_joined = 0;            // nodes
  std::optional<std::string> condition;  // why the source cannot be read now
  std::uint64_t conditions_total = 0;    // how often that began or changed
  std::vector<SinkStatus> sinks;
};

// One thread (control). Without timers of its own: the daemon calls Tick at or after NextDeadline,
// which may move with every call. Sinks are given nothing before both the first snapshot has come
// and SetOwn was called: until then nothing is known to be unwanted, and a lease cannot be told
// from our own.
class Reconciler final : public lease::SourceListener {
 public:
  // `clock` outlives the reconciler.
  Reconciler(const Clock& clock, Random random, ReconcilerHooks hooks,
             ReconcilerOptions options = {});
  Reconciler(const Reconciler&) = delete;
  Reconciler& operator=(const Reconciler&) = delete;

  // Who we are; may change later (a new PodCIDR, what this host needs). The same again is nothing.
  void SetOwn(lease::OwnIdentity own);
  // `sink` outlives the reconciler or is taken out by RemoveSink. It is resynced at once if the
  // truth is known.
  void AddSink(lease::Sink& sink, Families families = Families::kBoth);
  void RemoveSink(const lease::Sink& sink);
  // The present report of a sink whose work goes on elsewhere (lease::Sink).
  void OnSinkReport(const lease::Sink& sink, lease::SinkReport report);
  // What this sink holds may have been changed by others: it tries again now.
  void Recheck(const lease::Sink& sink);
  // Trust was lost (an adapter came back, HNS restarted): every sink reads back what is there.
  void ResyncAll();

  // When Tick has something to do; empty: nothing planned.
  std::optional<TimePoint> NextDeadline() const;
  void Tick();

  const lease::LeaseTable& table() const { return table_; }
  const std::optional<lease::OwnNode>& own_node() const { return own_node_; }
  bool source_synced() const { return source_synced_; }  // as in the report, which costs more
  ReconcilerReport report() const;

  void OnSnapshotBegin() override;
  void OnSnapshotEnd() override;
  void OnUpsert(const lease::Lease& lease) override;
  void OnDelete(const lease::NodeKey& node) override;
  void OnRefused(const lease::RefusedNode& node) override;
  void OnNotJoined(const lease::NotJoinedNode& node) override;
  void OnCondition(const absl::Status& status) override;
  void OnOwnNode(const std::optional<lease::OwnNode>& node) override;

 private:
  struct Attached {
    lease::Sink* sink;
    Backoff backoff;
    std::optional<TimePoint> retry_at;
    SinkStatus status;
    LogLimit limit{};
    bool logged = false;  // that something is pending
    // Whether what is true now is in the log, or there is nothing to log. What the limit holds back
    // is tried again.
    bool pending_logged = true, refused_logged = true, notes_logged = true;
  };

  bool Ready() const { return source_synced_ && own_known_; }
  void Notice(Severity severity, const std::string& line) const {
    if (hooks_.on_notice) hooks_.on_notice(severity, line);
  }
  // Of a condition that may come, go and count every second.
  bool Warn(LogLimit& limit, const std::string& line) const;
  void Changed() const {
    if (hooks_.on_change) hooks_.on_change();
  }
  void ChangedSince(std::uint64_t generation) const {
    if (table_.generation() != generation) Changed();
  }
  // Notes and refusals: logged when they differ, as soon as the limit lets them.
  void LogItems(Attached& at, const std::vector<std::string>& items, bool& logged) const;
  void LogCondition();
  void LogAllStates() {
    if (own_known_) log_.TellAll();
  }
  void Settle(Attached& at, lease::SinkReport report);
  void Resync(Attached& at);
  // Sinks that were resynced receive the changes, the others all peers.
  void Flush();
  void FlushSoon();

  const Clock& clock_;
  Random random_;
  ReconcilerHooks hooks_;
  ReconcilerOptions options_;
  lease::LeaseTable table_{options_.own, options_.now};
  LeaseLog log_{table_, hooks_.on_notice};
  std::optional<lease::OwnNode> own_node_;
  bool own_known_ = false;
  bool source_synced_ = false;
  bool in_snapshot_ = false;
  std::optional<std::string> condition_;
  LogLimit condition_limit_;
  bool condition_logged_ = false;
  std::optional<TimePoint> condition_at_;  // when the limit is tried again
  std::uint64_t conditions_total_ = 0;
  std::vector<Attached> sinks_;
  std::optional<TimePoint> flush_at_;
  std::optional<TimePoint> resync_at_;
};

}  // namespace weft::control
