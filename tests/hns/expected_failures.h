// SPDX-License-Identifier: Apache-2.0
// What the keepers do wrong today under answers that HNS may give. A case of a fault matrix that
// fails and is not listed here is a failure; so is a row of which every case passes: whoever mends
// the product takes the row away. Findings are those of issue 11.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace weft::hns {

// "*" stands for any text.
struct ExpectedFailure {
  std::string_view hns;       // the kind of HNS, as the matrix names it
  std::string_view test;      // of the matrix
  std::string_view scenario;  // where the keeper begins
  std::string_view event;     // "HcnModifyNetwork: takes a minute"
  std::string_view says;      // a part of what fails
  std::string_view why;
  std::string_view finding;
};

inline constexpr std::array kExpectedFailures = std::to_array<ExpectedFailure>({
    {"one that shows no VSID", "*", "*", "*", "flannel.4096 was changed",
     "what HNS does not show counts as a difference: the network is made again and again", "A1"},
    {"one that shows no VXLAN port", "*", "*", "*", "flannel.4096 was changed",
     "what HNS does not show counts as a difference: the network is made again and again", "A1"},
    {"one that applies a policy of a batch and says S_OK", "*", "*", "*",
     "HNS accepted the change but does not show it",
     "batches shrink when they are refused, not when they are accepted in part", "B2"},
    {"one that takes 0.7 s for a policy", "*", "*", "*", "the daemon gives such a call up",
     "a batch has 200 routes however long each takes", "A13"},
    {"one whose restart ends what a process may call", "HnsRestartsAtEveryCall", "*", "*",
     "(0x800706BF)", "a process that HNS no longer serves goes on asking", "evidence 1"},
    {"one whose restart ends what a process may call", "HnsStopsBeforeEveryCall", "*", "*",
     "(0x800706BF)", "a process that HNS no longer serves goes on asking", "evidence 1"},
    {"one with a link-local address first", "*", "*", "*", "peers cannot reach 169.254.149.216",
     "an address of 169.254/16 is taken for the management IP", "A2"},
    {"the usual HNS", "HnsStopsBeforeEveryCall", "*", "*answers 0x80370114", "(0x80370114)",
     "the code of a service that is not there is unknown", "evidence 13"},
    {"the usual HNS", "HnsStopsBeforeEveryCall", "*", "*answers 0x800704DB", "(0x800704DB)",
     "the code of a service that is not there is unknown", "evidence 13"},
    {"the usual HNS", "HnsStopsBeforeEveryCall", "*", "*answers 0x80070424", "(0x80070424)",
     "the code of a service that is not there is unknown", "evidence 13"},
    {"the usual HNS", "HnsStopsBeforeEveryCall", "*", "*answers 0x80070032", "(0x80070032)",
     "the code of a service that is not there is taken for another", "evidence 13"},
    {"the usual HNS", "TheProcessIsKilledAtEveryCall", "empty HNS, base network wanted",
     "*reboot with a new id of the adapter*", "it holds no switch on any adapter",
     "a base network is believed whatever became of it", "A11"},
    {"the usual HNS", "TheAdapterIsRenamedAtEveryCall", "*", "*was renamed to *", "E_INVALIDARG",
     "only a name of the form \"vEthernet (NIC)\" leads to the NIC", "A4"},
    {"host-gw, one whose restart ends what a process may call", "*", "*", "*", "(0x800706BF)",
     "a process that HNS no longer serves goes on asking", "evidence 1"},
    {"host-gw, one with a link-local address first", "*", "*", "*",
     "peers cannot reach 169.254.149.216",
     "an address of 169.254/16 is taken for the management IP", "A2"},
    {"host-gw, one that takes a NIC at random", "*", "*", "*", "it stands on another NIC",
     "the network is made without the name of the node's adapter", "A5"},
    {"host-gw, *", "*", "*", "*stale attachments", "the host has no interface of it",
     "an endpoint that says it is attached is believed", "C2"},
    {"host-gw, *", "*", "*", "reboot with a new id of the adapter", "HCN_E_DEGRADED_OPERATION",
     "a degraded network is kept and waited for", "A11"},
    {"the usual HNS", "WhatWasGivenUpChangesNothingWhenItReturns", "*", "*",
     "calls of a thread that was left behind",
     "a keeper that was given up goes on when its call returns", "A12"},
});

// Whether `text` is `pattern`.
inline bool Fits(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  pattern.remove_prefix(star + 1);
  for (std::size_t from = star; from <= text.size(); ++from) {
    if (Fits(pattern, text.substr(from))) return true;
  }
  return false;
}

// Every row whose kind of HNS begins so is about one of `kinds`.
template <typename Kinds>
void ExpectEachRowNamesOneOf(const Kinds& kinds, std::string_view prefix) {
  for (const ExpectedFailure& row : kExpectedFailures) {
    if (!row.hns.starts_with(prefix)) continue;
    EXPECT_TRUE(std::any_of(std::begin(kinds), std::end(kinds), [&](const auto& kind) {
      return Fits(row.hns, kind.name);
    })) << row.hns;
  }
}

struct CaseName {
  std::string hns, test, scenario, event;
};

// Of the cases of one test.
class CaseJudge {
 public:
  // Runs `body`; what fails in it is a failure unless a row expects it.
  void Run(const CaseName& name, const std::function<void()>& body) {
    ::testing::TestPartResultArray results;
    {
      ::testing::ScopedFakeTestPartResultReporter catching(
          ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
      try {
        body();
      } catch (const std::exception& thrown) {
        ADD_FAILURE() << "it threw: " << thrown.what();
      }
    }
    std::string reasons;
    for (int at = 0; at < results.size(); ++at) {
      if (results.GetTestPartResult(at).failed()) {
        reasons += std::string(results.GetTestPartResult(at).message()) + "\n";
      }
    }
    bool listed = false;
    for (std::size_t at = 0; at < kExpectedFailures.size(); ++at) {
      const ExpectedFailure& row = kExpectedFailures[at];
      if (!reasons.empty() && reasons.find(row.says) == std::string::npos) continue;
      if (!Fits(row.hns, name.hns) || !Fits(row.test, name.test) ||
          !Fits(row.scenario, name.scenario) || !Fits(row.event, name.event))
        continue;
      listed = true;
      drawn_[at] += 1;
      failed_[at] += reasons.empty() ? 0 : 1;
    }
    if (reasons.empty()) return;
    if (listed) {
      ++expected_;
    } else if (++unlisted_ <= kShown) {
      ADD_FAILURE() << name.hns << " | " << name.test << " | " << name.scenario << " | "
                    << name.event << "\n"
                    << reasons;
    }
  }

  // After every case that `test` has on `hns`, and not a sample: each row that speaks of some of
  // them, and each that names the test, still has one that fails.
  void ExpectEachRowHolds(std::string_view hns, std::string_view test) const {
    for (std::size_t at = 0; at < kExpectedFailures.size(); ++at) {
      const ExpectedFailure& row = kExpectedFailures[at];
      if (drawn_[at] == 0 && (row.test != test || !Fits(row.hns, hns))) continue;
      EXPECT_GT(failed_[at], 0u) << "none of " << drawn_[at]
                                 << " cases fails any more: take the row away that says \""
                                 << row.why << "\"";
    }
  }
  // Failures beyond the first few are only counted.
  void ExpectFewUnlisted() const { EXPECT_LE(unlisted_, kShown) << "failures that are not listed"; }
  std::size_t expected() const { return expected_; }

 private:
  static constexpr std::size_t kShown = 10;
  std::array<std::size_t, kExpectedFailures.size()> drawn_{}, failed_{};
  std::size_t expected_ = 0, unlisted_ = 0;
};

}  // namespace weft::hns
