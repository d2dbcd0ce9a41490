// SPDX-License-Identifier: Apache-2.0
// How this HNS behaves where real ones differ, or where nobody knows. The defaults are the
// likeliest or the most often reported. Each comment names where it was seen (a GitHub thread, or a
// file of a project), or says `assumed`.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "control/emulator/hns/model/clock.h"
#include "hns/api/hresult.h"
#include "hns/version.h"

namespace weft::hns::emulator {

// The same RemoteSubnetRoute or HostRoute twice.
enum class Duplicates : std::uint8_t {
  kAppended,         // it then stands there twice
  kRefused,          // HCN_E_POLICY_ALREADY_EXISTS for equal settings
  kRefusedByPrefix,  // ... and for another route to the same destination
};
// A field of a filter that the objects do not have.
enum class UnknownFilter : std::uint8_t { kMatchesNone, kIgnored };
// How HNSCall tells of a failure.
enum class V1Failures : std::uint8_t {
  kMixed,    // an endpoint that is not there: S_OK and "Success":false; all else: an HRESULT
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
  Version version{13, 3};       // Server 2022; what it cannot do is refused (features.h)
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
  Milliseconds new_interface{0};  // until the switch's interface is there
  Milliseconds gap{0};            // without connectivity while a switch is made or goes
  Milliseconds settle{0};         // after a delete, creating a network fails with `settle_code`
  Hresult settle_code = hresult::kElementNotFound;
  Milliseconds name_release{0};  // a deleted network's name stays taken, though nobody lists it

  Duplicates duplicates = Duplicates::kAppended;
  bool missing_policy_refused = true;  // removing what is not there: HCN_E_POLICY_NOT_FOUND
  bool atomic_batches = true;          // one bad policy refuses all; else those before it stay
  std::uint64_t batch_limit = 0;       // more policies in one request are refused; 0: no limit
  std::uint64_t batch_applied = 0;     // this many are applied before the rest is refused; 0: all
  // Of the two above. kOk: the request is accepted, and the rest is dropped in silence (assumed;
  // azure-container-networking#1893 made batches smaller out of fear of it).
  Hresult batch_code = hresult::kInvalidArgument;
  Milliseconds policies_shown{0};  // until either view shows a policy that was accepted (assumed)

  bool same_address_accepted = false;        // Server 2019 lets two endpoints have one address
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

  // In schema 2, of what was sent. Not one public program reads them back; schema 1 shows the VSID
  // of each subnet (start.ps1's log on 17763).
  bool vsid_shown = true;
  bool vxlan_port_shown = true;
  bool adapter_shown = true;                // the NetAdapterName policy is told back
  bool chosen_adapter_shown = false;        // ... also where HNS chose it
  bool management_ip_follows = true;        // the host's address; else the one it had first
  bool management_ip_after_attach = false;  // of an L2Bridge: once the host has an endpoint on it
  // Though the switch's interface does not exist yet (start.ps1's log on 17763: flanneld "Could not
  // find valid interface matching 10.1.36.50").
  bool management_ip_early = false;
  // After the switch is made, the host's address there, and with it the management IP, is one of
  // 169.254/16 for so long (sig-windows-tools#105, azure-container-networking#235).
  Milliseconds link_local{0};
  // The host's adapter on a switch; "*" is the physical one's name. "vEthernet (*) 2"
  // (azure-container-networking#235); one without it (Microsoft/SDN#269: a switch by Hyper-V).
  std::string host_adapter = "vEthernet (*)";
  AdapterChoice adapter_choice = AdapterChoice::kDefaultRoute;
  // v1: 4 after a detach, 5 on a network without its adapter, 3 where the host is attached
  // (hcsshim internal/hns/hnsendpoint.go); else 1 and 2 alone.
  bool all_endpoint_states = false;
  // Of a second attach. 0x80070022 on 1809 (flannel#1112).
  Hresult already_attached_code = hresult::kEndpointAlreadyAttached;

  bool disconnect_told = true;  // to subscribers; else they die in silence
  // Of every call while the service is stopped. Others that WSL takes for it (its
  // WslCoreNetworkingSupport.h): 0x80370114, 0x800706BE, 0x800704DB, 0x80070424, 0x80070032.
  Hresult stopped_code = hresult::kNoMoreEndpoints;
  // Of a handle from before a restart (WSL#9634); where processes die, of every call of a process
  // that began before it (the same; that a new process fares better is assumed).
  Hresult dead_handle_code = hresult::kRpcCallFailedDne;
  bool processes_die = false;
};

}  // namespace weft::hns::emulator
