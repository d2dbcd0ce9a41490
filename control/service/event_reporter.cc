// SPDX-License-Identifier: Apache-2.0
#include "control/service/event_reporter.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "vxlan/text/printable.h"

namespace weft::service {
namespace {

constexpr std::size_t kLongest = 2000;  // bytes; the event log takes 31,839 characters

// One line, in which no "%1" is left: viewers would replace it ("fe80::1%1").
std::string Insertion(std::string_view text) {
  std::string out;
  for (const char c : OneLine(text, kLongest)) {
    if (absl::ascii_isdigit(static_cast<unsigned char>(c)) && out.ends_with('%')) out += ' ';
    out += c;
  }
  return out;
}

}  // namespace

void EventReporter::Write(Event event, const std::vector<std::string>& strings) {
  std::vector<std::string> plain(strings.size());
  std::ranges::transform(strings, plain.begin(), Insertion);
  write_(event, plain);
}

bool EventReporter::Allows(control::TimePoint now) {
  if (!refilled_) refilled_ = now;
  while (burst_ < kBurst && now - *refilled_ >= kPause) {
    ++burst_;
    *refilled_ += kPause;
  }
  if (burst_ == kBurst) refilled_ = now;
  if (burst_ == 0) return false;
  --burst_;
  return true;
}

void EventReporter::Running(std::string_view description) {
  Write(Event::kRunning, {std::string(description)});
}

void EventReporter::Ended(int status, std::string_view cause) {
  if (status == 0)
    Write(Event::kStopped, {std::string(cause)});
  else
    Write(Event::kFailed, {absl::StrCat(status), std::string(cause)});
}

void EventReporter::Report(const Health& health, control::TimePoint now) {
  ReportReadiness(health, now);
  ReportConditions(health, now);
  if (health.restored == restored_ || !Allows(now)) return;
  restored_ = health.restored;
  Write(Event::kRestored, {health.last_restored});
}

void EventReporter::ReportReadiness(const Health& health, control::TimePoint now) {
  if (ready_ == health.ready) return;
  if (!health.ready && !ready_) {  // a start
    if (!unready_since_) unready_since_ = now;
    if (now - *unready_since_ < kLasting) return;
  }
  if (!Allows(now)) return;
  ready_ = health.ready;
  if (health.ready)
    Write(Event::kReady, {});
  else
    Write(Event::kNotReady, {health.reason});
}

void EventReporter::ReportConditions(const Health& health, control::TimePoint now) {
  for (auto& [subject, condition] : conditions_) condition.present = false;
  for (const auto& [subject, text] : health.conditions) {
    Condition& condition = conditions_.try_emplace(subject, Condition{now, text}).first->second;
    condition.present = true;
    condition.text = text;
    if (condition.written || now - condition.since < kLasting || !Allows(now)) continue;
    condition.written = true;
    Write(Event::kCondition, {subject, text});
  }
  std::erase_if(conditions_, [&](const auto& each) {
    const Condition& condition = each.second;
    if (condition.present) return false;
    if (!condition.written) return true;
    if (!Allows(now)) return false;
    Write(Event::kConditionOver, {each.first, condition.text});
    return true;
  });
}

}  // namespace weft::service
