// SPDX-License-Identifier: Apache-2.0
// Part of overlay_fault_matrix.h: calls that fail, or take a minute.
#pragma once

namespace weft::hns {

TEST_P(OverlayFaultMatrixTest, CallsFail) {
  constexpr Hresult kCodes[] = {hresult::kUnspecified, hresult::kRpcCallFailed,
                                hresult::kElementNotFound};
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    for (const Hresult code : kCodes) {
      for (const std::size_t times : {1u, 2u, 1'000'000u}) {
        for (const bool carried_out : {false, true}) {
          if (!usual() && (times != 1 || code == hresult::kElementNotFound)) continue;
          const auto arm = [&](OverlayStage& stage) {
            const auto fail = [call, code, times, failed = std::size_t{0}](
                                  const Step& step) mutable -> std::optional<Hresult> {
              if (step.number < call.number || step.function != call.function || failed >= times)
                return std::nullopt;
              ++failed;
              return code;
            };
            (carried_out ? stage.api.after : stage.api.before) = fail;
          };
          Case(scenario, call,
               "fails " + std::to_string(times) + " times with " + std::string(Name(code)) +
                   (carried_out ? " after" : " before"),
               arm);
        }
      }
    }
  });
}

TEST_P(OverlayFaultMatrixTest, CallsTakeAMinute) {
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    for (const bool always : {false, true}) {
      const auto arm = [&](OverlayStage& stage) {
        stage.api.before = [call, always, on = &stage](const Step& step) {
          if (step.number == call.number || (always && step.number > call.number))
            on->clock.now += std::chrono::minutes(1);
          return std::optional<Hresult>();
        };
      };
      Case(scenario, call, always ? "from then on each takes a minute" : "takes a minute", arm);
    }
  });
}

}  // namespace weft::hns
