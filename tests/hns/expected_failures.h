// SPDX-License-Identifier: Apache-2.0
// Known failures of the keepers under possible answers of HNS: none today. A case of a fault matrix
// that fails and is not listed here is a failure; so is a row whose cases all pass: a fix of the
// product removes the row.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace weft::hns {

// "*" matches any text.
struct ExpectedFailure {
  std::string_view hns;       // the kind of HNS, as the matrix names it
  std::string_view test;      // of the matrix
  std::string_view scenario;  // where the keeper begins
  std::string_view event;     // "HcnModifyNetwork: takes a minute"
  std::string_view reason;    // a part of what fails
  std::string_view why;
  std::string_view finding;
};

inline constexpr std::array<ExpectedFailure, 0> kExpectedFailures{};

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

// WEFT_MATRIX_EVERY=7 in the environment: of a matrix every seventh case runs; without it each one.
inline std::size_t MatrixSample() {
  const char* const text = std::getenv("WEFT_MATRIX_EVERY");
  const std::size_t every = text == nullptr ? 1 : std::strtoul(text, nullptr, 10);
  EXPECT_GT(every, 0u) << "WEFT_MATRIX_EVERY is no number";
  return std::max<std::size_t>(every, 1);
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
      if (!reasons.empty() && reasons.find(row.reason) == std::string::npos) continue;
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

  // After every case of `test` on `hns`, and not a sample: each row that matches some of them, and
  // each that names the test, still has one that fails.
  void ExpectEachRowHolds(std::string_view hns, std::string_view test) const {
    for (std::size_t at = 0; at < kExpectedFailures.size(); ++at) {
      const ExpectedFailure& row = kExpectedFailures[at];
      if (drawn_[at] == 0 && (row.test != test || !Fits(row.hns, hns))) continue;
      EXPECT_GT(failed_[at], 0u) << "none of " << drawn_[at]
                                 << " cases fails any more: remove the row with the reason \""
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
