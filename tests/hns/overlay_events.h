// SPDX-License-Identifier: Apache-2.0
// Part of overlay_fault_matrix.h: HNS, the process, the machine and others at work.
#pragma once

namespace weft::hns {

TEST_P(OverlayFaultMatrixTest, HnsRestartsAtEveryCall) {
  constexpr Restart kRestarts[] = {
      {Restart::Networks::kKept, true, true},
      {Restart::Networks::kKept, false, false},
      {Restart::Networks::kPersistentKept, true, false},
  };
  // Untold, and at the end of a round, nothing but the next Recheck can find it.
  strangers_act_ = true;
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    for (const Restart& restart : kRestarts) {
      for (const bool before : {true, false}) {
        for (const bool told : {true, false}) {
          if (!usual() && (told || !before)) continue;
          const auto arm = [&](OverlayStage& stage) {
            At(stage, call, before, [this, on = &stage, restart, told] {
              on->hns.RestartService(restart);
              if (told) under_way_ = [](OverlayStage& s) { s.keeper->OnServiceGone(); };
            });
          };
          Case(scenario, call,
               "restart " + std::to_string(&restart - kRestarts) + (before ? " before" : " after") +
                   (told ? ", told" : ""),
               arm, {restart.routes_kept, restart.endpoints_kept});
        }
      }
    }
  });
}

TEST_P(OverlayFaultMatrixTest, HnsStopsBeforeEveryCall) {
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    if (call.function == "HcnCloseNetwork") return;  // needs no service
    const auto arm = [&](OverlayStage& stage) {
      At(stage, call, kBefore, [this, on = &stage] {
        on->hns.StopService();
        stopped_ = true;
      });
    };
    const auto mend = [&](OverlayStage& stage) {
      stage.hns.StartService({Restart::Networks::kKept, /*routes_kept=*/false,
                              /*endpoints_kept=*/false});
      stopped_ = false;
    };
    Case(scenario, call, "stops for minutes", arm, {false, false}, mend);
  });
}

TEST_P(OverlayFaultMatrixTest, TheProcessIsKilledAtEveryCall) {
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    // Made by destructors, which may not throw; the next call is as good a place.
    if (call.function == "HcnCloseNetwork") return;
    for (const bool before : {true, false}) {
      for (const bool reboot : {false, true}) {
        const auto arm = [&](OverlayStage& stage) {
          At(stage, call, before, [on = &stage, reboot] {
            if (reboot) on->hns.Reboot();
            throw Killed();
          });
        };
        Case(scenario, call,
             std::string(reboot ? "reboot" : "killed") + (before ? " before" : " after"), arm,
             {true, !reboot});
      }
    }
  });
}

// HNS's switch gave the adapter another name while the keeper was at work.
TEST_P(OverlayFaultMatrixTest, TheAdapterIsRenamedAtEveryCall) {
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    const auto arm = [&](OverlayStage& stage) {
      At(stage, call, kBefore, [this] {
        under_way_ = [](OverlayStage& s) {
          s.wish.adapter = emulator::HostAdapterName("Ethernet");
          s.keeper->SetWish(s.wish);
        };
      });
    };
    Case(scenario, call, "renamed", arm);
  });
}

TEST_P(OverlayFaultMatrixTest, TheAdapterIsPulledOutAtEveryCall) {
  strangers_act_ = true;
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    const auto arm = [&](OverlayStage& stage) {
      At(stage, call, kBefore, [on = &stage] { on->host.Remove("Ethernet"); });
    };
    const auto mend = [](OverlayStage& stage) {
      stage.host.Add({"Ethernet", {stage.wish.node_address}});
    };
    Case(scenario, call, "pulled out for minutes", arm, {}, mend);
  });
}

TEST_P(OverlayFaultMatrixTest, StrangersActAtEveryCall) {
  strangers_act_ = true;
  const struct {
    const char* name;
    void (*act)(OverlayStage&);
  } kActs[] = {
      {"a route of ours goes",
       [](OverlayStage& stage) {
         const auto there = stage.RoutesThere();
         if (!there.empty()) stage.RemovePolicy({"RemoteSubnetRoute", there.front()});
       }},
      {"a route comes",
       [](OverlayStage& stage) {
         if (stage.Overlay()) stage.AddPolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.9.0/24")));
       }},
      {"a route of ours is altered",
       [](OverlayStage& stage) {
         const auto there = stage.RoutesThere();
         if (there.empty()) return;
         stage.RemovePolicy({"RemoteSubnetRoute", there.front()});
         stage.AddPolicy(RemoteSubnetRoutePolicy(RouteTo("10.244.1.0/24", "02:00:00:00:00:07")));
       }},
      {"HostRoute goes",
       [](OverlayStage& stage) {
         const auto network = stage.Overlay();
         if (network && network->Has("HostRoute")) stage.RemovePolicy(HostRoutePolicy());
       }},
      {"the network goes",
       [](OverlayStage& stage) {
         if (const auto network = stage.Overlay())
           EXPECT_TRUE(stage.stranger.DeleteNetwork(network->id, network->name).ok());
       }},
      {"the network goes, and another one comes",
       [](OverlayStage& stage) {
         const auto network = stage.Overlay();
         if (!network) return;
         EXPECT_TRUE(stage.stranger.DeleteNetwork(network->id, network->name).ok());
         // Slow ones refuse it so soon after a delete.
         stage.stranger.Create(OverlayNetwork(stage.wish)).IgnoreError();
       }},
      {"ours is made by somebody else",
       [](OverlayStage& stage) {
         if (!stage.Overlay()) stage.stranger.Create(OverlayNetwork(stage.wish)).IgnoreError();
       }},
  };
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    for (const auto& act : kActs) {
      if (!usual() && (&act - kActs) % 2 == 1) continue;
      const auto arm = [&](OverlayStage& stage) {
        At(stage, call, kBefore, [on = &stage, run = act.act] { run(*on); });
      };
      Case(scenario, call, act.name, arm);
    }
  });
}

}  // namespace weft::hns
