// SPDX-License-Identifier: Apache-2.0
#include "control/metrics/hns_calls.h"

#include "hns/api/hresult.h"

namespace weft::metrics {

// Only what ends after an answer is a restart: a service that stays away is one.
void HnsCalls::Counts::Gone() {
  if (std::exchange(answers, false)) ++restarts;
}

hns::Reply HnsCalls::Make(const hns::ApiCall& call) {
  const Clock::time_point begin = now_();
  {
    const std::lock_guard lock(counts_->mutex);
    ++counts_->in_progress;
  }
  hns::Reply reply;
  if (call.operation == hns::Operation::kSubscribe) {
    reply = api_->Subscribe(
        [counts = counts_, notify = call.notify](hns::Notification type, std::string_view data) {
          if (type == hns::Notification::kServiceDisconnect) {
            const std::lock_guard lock(counts->mutex);
            counts->Gone();
          }
          notify(type, data);
        });
  } else {
    reply = api_->Make(call);
  }
  const Clock::time_point end = now_();
  const bool gone = hns::IsServiceGone(reply.code);
  const std::lock_guard lock(counts_->mutex);
  --counts_->in_progress;
  counts_->calls[{call.function(), gone ? "gone" : reply.ok() ? "ok" : "error"}].Add(end - begin);
  // What releases an object of a former service answers as if the service were gone.
  if (gone && !call.is_releasing()) counts_->Gone();
  if (reply.ok() && !call.is_releasing()) counts_->answers = true;
  if (reply.ok() && call.operation == hns::Operation::kCreate && call.kind == hns::Kind::kNetwork)
    counts_->network_created = begin;
  return reply;
}

void HnsCalls::AddTo(Exposition& exposition) const {
  const std::lock_guard lock(counts_->mutex);
  for (const auto& [labels, histogram] : counts_->calls)
    exposition.AddHistogram(Metric::kHnsCallDuration, {labels.first, labels.second}, histogram);
  exposition.Add(Metric::kHnsCallsInProgress, {}, counts_->in_progress);
  exposition.Add(Metric::kHnsRestarts, {}, counts_->restarts);
}

std::optional<HnsCalls::Clock::time_point> HnsCalls::network_created() const {
  const std::lock_guard lock(counts_->mutex);
  return counts_->network_created;
}

}  // namespace weft::metrics
