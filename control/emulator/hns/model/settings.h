// SPDX-License-Identifier: Apache-2.0
// The behaviour of this HNS where real ones differ, or where it is unknown. The defaults are the
// likeliest or the most often reported. Each comment names its source (a GitHub thread, or a file
// of a project), or has `assumed`.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "control/emulator/hns/model/clock.h"
#include "control/emulator/host/host_state.h"
#include "hns/api/hresult.h"
#include "hns/version.h"

namespace weft::hns::emulator {

// The result of adding the same RemoteSubnetRoute or HostRoute twice.
enum class Duplicates : std::uint8_t {
  kAppended,         // the list then contains it twice
  kRefused,          // HCN_E_POLICY_ALREADY_EXISTS for equal settings
  kRefusedByPrefix,  // ... and for another route to the same destination
};
// A field of a filter that the objects do not have.
enum class UnknownFilter : std::uint8_t { kMatchesNone, kIgnored };
// How HNSCall reports a failure.
enum class V1Failures : std::uint8_t {
  kMixed,    // an endpoint that does not exist: S_OK and "Success":false; all else: an HRESULT
  kHresult,  // always
  kText,     // always S_OK and "Success":false
};

// The physical adapter of a network that names none.
enum class AdapterChoice : std::uint8_t {
  kDefaultRoute,
  kRandom,  // azure-container-networking network_windows.go: HNS "will just pick one randomly"
};

using Microseconds = std::chrono::microseconds;

struct Settings {
  Version version{13, 3};       // Server 2022; missing features are refused (features.h)
  std::uint64_t seed = 1;       // of ids and MACs
  std::string language = "en";  // of error texts: en, de, zh

  Milliseconds latency{0};  // of each call
  // Of each policy that a modify names (assumed; azure-container-networking#1875: hardly any), and
  // of each call that changes something, for each endpoint, load balancer and network policy that
  // exists (kubernetes#109124: 2,000 services with 5,000 endpoints took 114 minutes).
  Microseconds policy_cost{0};
  Microseconds object_cost{0};
  Milliseconds management_ip{0};  // until a network has its management IP
  Milliseconds dr_mac{0};         // until an overlay has its DrMacAddress (assumed)
  Milliseconds new_interface{0};  // until the switch's interface exists
  Milliseconds gap{0};            // without connectivity while a switch is created or removed
  Milliseconds settle{0};         // after a delete, creating a network fails with `settle_code`
  Hresult settle_code = hresult::kElementNotFound;
  Milliseconds name_release{0};  // a deleted network's name stays taken, though no list has it

  Duplicates duplicates = Duplicates::kAppended;
  bool missing_policy_refused = true;  // removing a missing policy: HCN_E_POLICY_NOT_FOUND
  bool atomic_batches = true;          // one bad policy refuses all; else those before it stay
  std::uint64_t batch_limit = 0;       // more policies in one request are refused; 0: no limit
  std::uint64_t batch_applied = 0;     // this many are applied before the rest is refused; 0: all
  // The code for the two above. kOk: the request is accepted, and the rest is silently dropped
  // (assumed; azure-container-networking#1893 made batches smaller to avoid it).
  Hresult batch_code = hresult::kInvalidArgument;
  Milliseconds policies_shown{0};  // until either view shows a policy that was accepted (assumed)

  bool same_address_accepted = false;        // Server 2019 allows two endpoints with one address
  bool overlapping_subnets_accepted = true;  // of networks on adapters; else HCN_E_INVALID_SUBNET
  bool same_vsid_accepted = true;            // in two overlay networks; else E_INVALIDARG
  bool subnet_needed = true;                 // by an overlay: HCN_E_INVALID_NETWORK
  bool network_provider_address = true;      // else HCN_E_INVALID_POLICY_TYPE (assumed)
  bool gateway_needed = true;                // by a subnet: HCN_E_INVALID_SUBNET
  bool endpoints_hold_network = false;       // delete refused: HCN_E_ENTITY_HAS_REFERENCES
  bool elevated = true;                      // else every call is denied
  bool backends_must_exist = true;           // of a load balancer: HCN_E_ENDPOINT_NOT_FOUND
  UnknownFilter unknown_filter = UnknownFilter::kMatchesNone;
  V1Failures v1_failures = V1Failures::kMixed;

  // Schema 2 shows VSIDs that were sent. No public program reads them back; schema 1 shows the VSID
  // of each subnet (start.ps1's log on 17763).
  bool vsid_shown = true;
  bool vxlan_port_shown = true;
  bool adapter_shown = true;                // the NetAdapterName policy is shown
  bool chosen_adapter_shown = false;        // ... also if HNS chose the adapter
  bool management_ip_follows = true;        // it is the host's current address; else its first one
  bool management_ip_after_attach = false;  // of an L2Bridge: once the host has an endpoint on it
  // Though the switch's interface does not exist yet (start.ps1's log on 17763: flanneld "Could not
  // find valid interface matching 10.1.36.50").
  bool management_ip_early = false;
  // After the switch is created, the host's address on it, and so the management IP, is one of
  // 169.254/16 for this time (sig-windows-tools#105, azure-container-networking#235).
  Milliseconds link_local{0};
  // Seen: DHCP instead of the static address, on 2004 and 20H2 always, until the network is deleted
  // (Microsoft/SDN#498, sig-windows-tools#162). That the name servers and the metric alone are lost
  // is assumed.
  host::StaticIpLoss static_ip_lost = host::StaticIpLoss::kNothing;
  // The name of the host's adapter on a switch; "*" stands for the physical adapter's name. Also
  // seen: "vEthernet (*) 2" (azure-container-networking#235); a name without it (Microsoft/SDN#269:
  // a switch made by Hyper-V).
  std::string host_adapter = "vEthernet (*)";
  AdapterChoice adapter_choice = AdapterChoice::kDefaultRoute;
  // v1's state: 4 after a detach, 5 on a network without its adapter, 3 if the host is attached
  // (hcsshim internal/hns/hnsendpoint.go); if false, only 1 and 2.
  bool all_endpoint_states = false;
  // The code of a second attach. 0x80070022 on 1809 (flannel#1112).
  Hresult already_attached_code = hresult::kEndpointAlreadyAttached;

  bool disconnect_notified = true;  // to subscribers; else they die in silence
  // The code of every call while the service is stopped. Other codes that WSL treats the same (its
  // WslCoreNetworkingSupport.h): 0x80370114, 0x800706BE, 0x800704DB, 0x80070424, 0x80070032.
  Hresult stopped_code = hresult::kNoMoreEndpoints;
  // The code for a handle from before a restart (WSL#9634); with processes_die, for every call of a
  // process that started before it (same source; that a new process works is assumed).
  Hresult dead_handle_code = hresult::kRpcCallFailedDne;
  bool processes_die = false;
};

}  // namespace weft::hns::emulator
