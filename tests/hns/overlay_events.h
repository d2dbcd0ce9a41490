// SPDX-License-Identifier: Apache-2.0
// Part of overlay_fault_matrix.h: events of HNS, the process, the host and foreign programs.
#pragma once

namespace weft::hns {

TEST_P(OverlayFaultMatrixTest, HnsRestartsAtEveryCall) {
  const struct {
    const char* name;
    Restart restart;
  } kRestarts[] = {
      {"restart", {}},
      {"restart without routes and endpoints",
       {.routes_kept = false, .endpoints_kept = false, .load_balancers_kept = false}},
      {"restart with persistent networks alone",
       {.networks = Restart::Networks::kPersistentKept, .endpoints_kept = false}},
      {"crash", {.away = std::chrono::seconds(120)}},
  };
  // Untold, and at the end of a round, nothing but the next Recheck can find it.
  foreign_changes_ = true;
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    for (const auto& [name, restart] : kRestarts) {
      for (const bool before : {true, false}) {
        for (const bool told : {true, false}) {
          if (!usual() && (told || !before)) continue;
          const auto arm = [&](OverlayStage& stage) {
            At(stage, call, before, [this, on = &stage, restart = restart, told] {
              on->hns.RestartService(restart);
              if (told) under_way_ = [](OverlayStage& s) { s.keeper->OnServiceGone(); };
            });
          };
          Case(scenario, call,
               std::string(name) + (before ? " before" : " after") + (told ? ", told" : ""), arm,
               {restart.routes_kept, restart.endpoints_kept});
        }
      }
    }
  });
}

TEST_P(OverlayFaultMatrixTest, HnsStopsBeforeEveryCall) {
  // The code that WSL treats as a stopped service (settings.h).
  constexpr Hresult kGone[] = {hresult::kNoMoreEndpoints,
                               hresult::kRpcCallFailed,
                               0x80370114,
                               0x800704DB,
                               0x80070424,
                               0x80070032};
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    if (call.function == "HcnCloseNetwork") return;  // needs no service
    for (const Hresult code : kGone) {
      if (!usual() && code != hresult::kNoMoreEndpoints) continue;
      const auto arm = [&](OverlayStage& stage) {
        emulator::Settings settings = stage.hns.settings();
        settings.stopped_code = code;
        stage.hns.Set(settings);
        At(stage, call, kBefore, [this, on = &stage] {
          on->hns.Stop();
          stopped_ = true;
        });
      };
      const auto mend = [&](OverlayStage& stage) {
        stage.hns.Start({.routes_kept = false, .endpoints_kept = false});
        stopped_ = false;
      };
      char name[64];
      std::snprintf(name, sizeof name, "stops for minutes, answers 0x%08X", code);
      Case(scenario, call, name, arm, {false, false}, mend);
    }
  });
}

// It hangs in HNS; the daemon abandons it after two minutes and continues with another keeper. Then
// it returns, and the first keeper continues where it was, in the same round.
TEST_P(OverlayFaultMatrixTest, ACallReturnsWhenAnotherKeeperIsAtWork) {
  foreign_changes_ = true;
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    for (const bool before : {true, false}) {
      const auto arm = [&, this](OverlayStage& stage) {
        At(stage, call, before, [this, on = &stage] {
          unjudged_ = true;
          on->clock.now += std::chrono::minutes(2);
          on->routes.erase(Cidr("10.244.2.0/24"));
          on->routes.emplace(Cidr("10.244.7.0/24"), RouteTo("10.244.7.0/24"));
          on->successor = std::make_unique<OverlayKeeper>(on->other, on->spec, nullptr,
                                                          [on] { return on->Now(); });
          hns::SetRoutes(*on->successor, on->routes, true);
          const TimePoint end = on->Now() + std::chrono::minutes(2);
          OverlayOutcome outcome = on->successor->Round(on->Now());
          while (outcome.next && *outcome.next <= end) {
            on->clock.now =
                std::max(on->clock.now, std::chrono::duration_cast<emulator::Milliseconds>(
                                            outcome.next->time_since_epoch()));
            outcome = on->successor->Round(on->Now());
          }
          under_way_ = [this](OverlayStage& s) {
            s.keeper = std::move(s.successor);
            unjudged_ = false;
          };
        });
      };
      Case(scenario, call, std::string("hangs ") + (before ? "before" : "after"), arm);
    }
  });
}

TEST_P(OverlayFaultMatrixTest, TheProcessIsKilledAtEveryCall) {
  Restart slow = emulator::kReboot, new_ids = emulator::kReboot;
  slow.endpoints_kept = true;
  slow.unsettled = std::chrono::seconds(60);
  new_ids.adapter_ids_new = true;
  const struct {
    const char* name;
    std::optional<Restart> reboot;
  } kEnds[] = {{"killed", std::nullopt},
               {"reboot", emulator::kReboot},
               {"reboot with endpoints kept, creates refused at first", slow},
               {"reboot with a new id of the adapter", new_ids}};
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    // Made by destructors, which may not throw; the next call is as good a place.
    if (call.function == "HcnCloseNetwork") return;
    for (const bool before : {true, false}) {
      for (const auto& [name, reboot] : kEnds) {
        if (!usual() && (&reboot - &kEnds[0].reboot) > 1) continue;
        const auto arm = [&](OverlayStage& stage) {
          At(stage, call, before, [on = &stage, reboot = reboot] {
            if (reboot) on->hns.Reboot(*reboot);
            throw Killed();
          });
        };
        Case(scenario, call, std::string(name) + (before ? " before" : " after"), arm,
             {!reboot || !reboot->adapter_ids_new, !reboot || reboot->endpoints_kept});
      }
    }
  });
}

// HNS's switch gave the adapter another name while the keeper was at work.
TEST_P(OverlayFaultMatrixTest, TheAdapterIsRenamedAtEveryCall) {
  constexpr const char* kNames[] = {"vEthernet (Ethernet)", "vEthernet (Ethernet) 2",
                                    "Ethernet Adapter - Virtual Switch"};
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    for (const char* name : kNames) {
      if (!usual() && name != kNames[0]) continue;
      const auto rename = [name](OverlayStage& stage) {
        stage.spec.adapter = name;
        stage.keeper->SetSpec(stage.spec);
      };
      const auto arm = [&](OverlayStage& stage) {
        stage.host.Add({name, {}, true, /*is_virtual=*/true});
        At(stage, call, kBefore, [this, rename] { under_way_ = rename; });
      };
      Case(scenario, call, std::string("renamed to ") + name, arm);
      if (call.number != 1) continue;
      const auto begin = [&](OverlayStage& stage) {
        stage.host.Add({name, {}, true, /*is_virtual=*/true});
        rename(stage);
      };
      Case(scenario, call, std::string("was renamed to ") + name, begin);
    }
  });
}

TEST_P(OverlayFaultMatrixTest, TheAdapterIsPulledOutAtEveryCall) {
  foreign_changes_ = true;
  ForEachCall([&](const Scenario& scenario, const Step& call) {
    const auto arm = [&](OverlayStage& stage) {
      At(stage, call, kBefore, [on = &stage] { on->host.Remove("Ethernet"); });
    };
    const auto mend = [](OverlayStage& stage) {
      stage.host.Add({"Ethernet", {stage.spec.node_address}});
    };
    Case(scenario, call, "pulled out for minutes", arm, {}, mend);
  });
}

TEST_P(OverlayFaultMatrixTest, ForeignChangesAtEveryCall) {
  foreign_changes_ = true;
  const struct {
    const char* name;
    void (*act)(OverlayStage&);
  } kActs[] = {
      {"a route of ours is removed",
       [](OverlayStage& stage) {
         const auto there = stage.RoutesThere();
         if (!there.empty()) stage.RemovePolicy({"RemoteSubnetRoute", there.front()});
       }},
      {"a route is added",
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
      {"HostRoute is removed",
       [](OverlayStage& stage) {
         const auto network = stage.Overlay();
         if (network && network->Has("HostRoute")) stage.RemovePolicy(HostRoutePolicy());
       }},
      {"the network is deleted",
       [](OverlayStage& stage) {
         if (const auto network = stage.Overlay())
           EXPECT_TRUE(stage.other_program.DeleteNetwork(network->id, network->name).ok());
       }},
      {"the network is deleted, and another one is made",
       [](OverlayStage& stage) {
         const auto network = stage.Overlay();
         if (!network) return;
         EXPECT_TRUE(stage.other_program.DeleteNetwork(network->id, network->name).ok());
         // Slow ones refuse it so soon after a delete.
         stage.other_program.Create(OverlayNetwork(stage.spec)).IgnoreError();
       }},
      {"ours is made by another program",
       [](OverlayStage& stage) {
         if (!stage.Overlay()) stage.other_program.Create(OverlayNetwork(stage.spec)).IgnoreError();
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
