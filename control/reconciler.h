// SPDX-License-Identifier: Apache-2.0
// From source to sinks: keeps the lease table, passes changes to each sink, retries what failed,
// and reports the state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "control/clock.h"
#include "control/lease/lease_table.h"
#include "control/lease/sink.h"
#include "control/lease/source.h"
#include "control/lease_log.h"
#include "control/log_limit.h"
#include "control/retry.h"

namespace weft::control {

// The address families of a sink.
enum class Families : std::uint8_t { kV4 = 1, kV6 = 2, kBoth = 3 };

struct ReconcilerOptions {
  RetryPolicy retry{};
  // Every sink reads back the actual state this often, to repair foreign changes.
  Duration resync_period = std::chrono::minutes(5);
  // Events are gathered for this long before sinks receive them; zero: no delay.
  Duration batch_window = Duration::zero();
  // Our identity as far as it is known before SetOwn: if SetOwn adds only the subnets, leases are
  // judged once.
  lease::OwnIdentity own;
  lease::LeaseTable::Now now{};  // Unix seconds; the system's by default
};

// All are called on the control thread, from within a call of the reconciler. They may read its
// report, but must not call anything else of it, except that on_own_node may call SetOwn and
// AddSink.
struct ReconcilerHooks {
  std::function<void()> on_change;  // report() may differ, but for a generation of readiness alone
  std::function<void(const std::optional<lease::OwnNode>&)>
      on_own_node;     // our Node changed, or was deleted (empty)
  OnNotice on_notice;  // for the log
};

struct SinkStatus {
  std::string name;
  std::string_view kind;  // a string literal
  Families families = Families::kBoth;
  bool resynced = false;  // has received the first complete snapshot
  lease::SinkReport report;
  std::uint64_t refusal_changes = 0;  // how often its refusals appeared or changed
  std::uint64_t note_changes = 0;     // how often its notes appeared or changed
};

// Its cost does not grow with the number of leases: their states are in the table.
struct ReconcilerReport {
  bool source_synced = false;  // the first snapshot is complete
  // The source is synced, our identity is known, and every sink is in sync.
  bool in_sync = false;
  // The same, or with recalled leases (Recall); but single entries may have failed in a sink that
  // accepts others; each was tried. A sink that fails as a whole, accepts none of several, or has
  // not answered yet is not ready.
  bool ready = false;
  std::uint64_t generation = 0;  // increases with every change of the leases
  std::size_t leases = 0;
  std::size_t refused = 0;               // nodes
  std::size_t not_joined = 0;            // nodes
  std::optional<std::string> condition;  // why the source cannot be read now
  std::uint64_t conditions_total = 0;    // how often it appeared or changed
  std::vector<SinkStatus> sinks;
};

// One thread (control). It has no timers: the daemon calls Tick at or after NextDeadline, which may
// change with every call. Sinks receive nothing before the first snapshot is complete and SetOwn
// was called: before that, it is not known which entries are stale, nor which lease is our own.
class Reconciler final : public lease::SourceListener {
 public:
  // `clock` outlives the reconciler.
  Reconciler(const Clock& clock, Random random, ReconcilerHooks hooks,
             ReconcilerOptions options = {});
  Reconciler(const Reconciler&) = delete;
  Reconciler& operator=(const Reconciler&) = delete;

  // What an earlier process knew, before anything was reported: sinks receive the leases that
  // `leases` passes on; if it returns an error, which is returned, nothing was recalled. The first
  // snapshot replaces them, as if they had not been there, and every sink reads back its state. If
  // our Node is reported with another UID, sinks lose them at once.
  absl::Status Recall(
      const lease::OwnNode& node,
      absl::FunctionRef<absl::Status(absl::FunctionRef<void(const lease::Lease&)>)> leases);
  // Recalled leases are in use, because the source has not reported a snapshot.
  bool is_recalled() const { return recalled_ != nullptr; }
  // Our Node is the recalled one, because the source has not reported it.
  bool is_own_recalled() const { return own_recalled_; }

  // Our identity. It may change later (a new PodCIDR, what this host needs). An equal value does
  // nothing.
  void SetOwn(lease::OwnIdentity own);
  // `sink` outlives the reconciler or is removed by RemoveSink. It is resynced at once if the
  // leases and our identity are known.
  void AddSink(lease::Sink& sink, Families families = Families::kBoth);
  void RemoveSink(const lease::Sink& sink);
  // The current report of a sink that works on a thread of its own (lease::Sink).
  void OnSinkReport(const lease::Sink& sink, lease::SinkReport report);
  // Another program may have changed the state of this sink: it retries now.
  void Recheck(const lease::Sink& sink);
  // The actual state is in doubt (an adapter came back, HNS restarted): every sink reads it back.
  void ResyncAll();

  // When Tick has work to do; empty: none is planned.
  std::optional<TimePoint> NextDeadline() const;
  void Tick();

  // The recalled leases while they are in use.
  const lease::LeaseTable& table() const { return recalled_ ? *recalled_ : table_; }
  // Increases with every change of the leases.
  std::uint64_t generation() const {
    return table_.generation() + (recalled_ ? recalled_->generation() : former_generations_);
  }
  const std::optional<lease::OwnNode>& own_node() const { return own_node_; }
  bool source_synced() const { return source_synced_; }  // cheaper than report()
  // The table is what the source has now.
  bool is_current() const { return source_synced_ && !condition_; }
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
    bool logged = false;  // the log has a line about pending items
    // Whether the current value is in the log, or empty. A line that the limit suppressed is tried
    // again.
    bool pending_logged = true, refused_logged = true, notes_logged = true;
    // SinkReport::restored that is not in the log yet.
    std::size_t restored = 0;
    std::string restored_one{};
  };

  // The leases that the sinks have.
  lease::LeaseTable& InUse() { return recalled_ ? *recalled_ : table_; }
  bool Ready() const { return (source_synced_ || recalled_) && own_known_; }
  void Notice(Severity severity, const std::string& line) const {
    if (hooks_.on_notice) hooks_.on_notice(severity, line);
  }
  // For a condition that may begin, end or change its numbers every second. True if it was logged.
  bool Warn(LogLimit& limit, const std::string& line) const;
  void Changed() const {
    if (hooks_.on_change) hooks_.on_change();
  }
  void ChangedSince(std::uint64_t generation) const {
    if (table_.lease_generation() != generation) Changed();
  }
  // Logs notes and refusals when they change, as soon as the limit allows.
  void LogItems(Attached& at, const std::vector<std::string>& items, bool& logged) const;
  void LogCondition();
  void LogAllStates() {
    if (own_known_) log_.LogAll();
  }
  void Settle(Attached& at, lease::SinkReport report);
  void Resync(Attached& at);
  // Sinks that were resynced receive the changes, the other sinks all peers.
  void Flush();
  void FlushSoon();

  const Clock& clock_;
  Random random_;
  ReconcilerHooks hooks_;
  ReconcilerOptions options_;
  lease::LeaseTable table_{options_.own, options_.now};
  LeaseLog log_{table_, hooks_.on_notice};
  std::unique_ptr<lease::LeaseTable> recalled_;  // null: what the source reported is in use
  std::uint64_t former_generations_ = 0;         // of recalled_ when it ended, and one
  std::optional<lease::OwnNode> own_node_;
  bool own_known_ = false;
  bool source_synced_ = false;
  bool own_recalled_ = false;
  bool in_snapshot_ = false;
  std::optional<std::string> condition_;
  LogLimit condition_limit_;
  bool condition_logged_ = false;
  std::optional<TimePoint> condition_at_;  // when to log a suppressed condition
  std::optional<TimePoint> gathered_at_;   // when to log how many more leases were deleted
  std::uint64_t conditions_total_ = 0;
  std::vector<Attached> sinks_;
  std::optional<TimePoint> flush_at_;
  std::optional<TimePoint> resync_at_;
};

}  // namespace weft::control
