// SPDX-License-Identifier: Apache-2.0
// HNS in process: one set of objects, accessed through Hcn* (v2) and HNSCall (v1), on an emulated
// host. Besides the Api it has controls: faults, hooks, restarts of the service and of the machine,
// the state as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/emulator/hns/faults.h"
#include "control/emulator/hns/model/clock.h"
#include "control/emulator/hns/model/settings.h"
#include "control/emulator/host/emulated_host.h"
#include "hns/api/api.h"

namespace weft::hns::emulator {

class Service;

// What is lost at a restart of the service. Handles and subscriptions always are. HNS restores the
// rest from its backup: creating a load balancer again then fails with 0x800700B7
// (kubernetes#139503, Microsoft, 2026), attaching an endpoint again with 0x803B0014 (WSL's
// WslCoreNetworkEndpointSettings.h). Contrary reports: no endpoint left (calico#5164), one of 577
// load balancers left (kubernetes#110674).
struct Restart {
  enum class Networks : std::uint8_t { kKept, kPersistentKept, kLost };  // lost: with all on them
  Networks networks = Networks::kKept;
  bool routes_kept = true;  // RemoteSubnetRoute and HostRoute policies; no report exists
  bool endpoints_kept = true;
  bool load_balancers_kept = true;
  bool attachments_kept = true;  // of endpoints that are kept
  // Endpoints are shown as attached, in v1 as 3, but the host has no interface for them
  // (calico#11203, flannel#1391).
  bool attachments_stale = false;
  // Persistent networks stay bound to an adapter id that does not exist any more (calico#11840: a
  // new NetCfgInstanceId after a reboot): they are degraded, and nothing repairs them.
  bool adapter_ids_new = false;
  // Until then creating a network fails with Settings::settle_code (Microsoft/SDN#177: E_INVALIDARG
  // after a reboot).
  Milliseconds unsettled{0};
  // The service stays stopped for this time and then restarts by itself: the service control
  // manager restarts a crashed service after 120 s (hcsshim#2155, event 7031).
  Milliseconds away{0};
};
// Endpoints of persistent networks may survive (docker/for-win#13965); most do not.
inline constexpr Restart kReboot = {.networks = Restart::Networks::kPersistentKept,
                                    .endpoints_kept = false,
                                    .load_balancers_kept = false,
                                    .attachments_kept = false};

// Any thread. A slow call delays no other. `clock` and `host` outlive it. No call may be in
// progress when it is destroyed.
class Emulator final : public Api {
 public:
  Emulator(Clock& clock, host::EmulatedHost& host, Settings settings = {});
  ~Emulator() override;

  Reply Make(const ApiCall& call) override;

  Settings settings() const;
  void Set(const Settings& settings);

  void Add(Fault fault);
  void ClearFaults();  // hanging calls continue
  std::size_t hanging_calls() const;
  // `before` runs before the call has any effect, `after` when it is done but not answered yet.
  // Both run without the lock: they may restart the service, or throw to simulate a killed process.
  void OnEachCall(std::function<void(const ApiCall&)> before,
                  std::function<void(const ApiCall&, const Reply&)> after);
  // By function.
  std::map<std::string, std::uint64_t> calls() const;
  std::uint64_t total_calls() const;

  // While stopped, every call returns Settings::stopped_code.
  void Stop();
  void Start(const Restart& restart = {});
  void RestartService(const Restart& restart = {});
  // All namespaces are lost too. Hanging calls continue.
  void Reboot(const Restart& restart = kReboot);
  // Reserves a network name: creating a network with it is refused, and no network has it.
  void TakeName(const std::string& name);
  void ReleaseName(const std::string& name);

  // A client process; the emulator outlives it. After a restart of the service, all its calls
  // except closes may fail (Settings::processes_die). The emulator itself acts as a process that
  // never ends.
  std::unique_ptr<Api> NewProcess();

  // Handles that are not closed yet; and how often a closed or unknown handle was used.
  std::size_t open_handles() const;
  std::uint64_t handle_misuses() const;

  // Objects, settings and timers; not handles, subscriptions, faults, hooks.
  std::string StateText() const;
  // Loads all or nothing. Handles and subscriptions stay.
  absl::Status LoadState(std::string_view json);
  // Changes with every change of StateText.
  std::uint64_t version() const;

 private:
  std::unique_ptr<Service> service_;
};

}  // namespace weft::hns::emulator
