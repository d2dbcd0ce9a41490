// SPDX-License-Identifier: Apache-2.0
// How this HNS behaves where real ones differ, or where nobody knows. The defaults are the
// likeliest or the most often reported.
#pragma once

#include <cstdint>
#include <string>

#include "hns/emulator/clock.h"
#include "hns/hresult.h"
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

struct Settings {
  Version version{13, 3};       // Server 2022; what it cannot do is refused (features.h)
  std::uint64_t seed = 1;       // of ids and MACs
  std::string language = "en";  // of error texts: en, de, zh

  Milliseconds latency{0};        // of each call
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
  Hresult batch_code = hresult::kInvalidArgument;  // of the two above

  bool same_address_accepted = false;        // Server 2019 lets two endpoints have one address
  bool overlapping_subnets_accepted = true;  // in two overlay networks; else HCN_E_INVALID_SUBNET
  bool same_vsid_accepted = true;            // in two overlay networks; else E_INVALIDARG
  bool subnet_needed = true;                 // by an overlay: HCN_E_INVALID_NETWORK
  bool gateway_needed = true;                // by a subnet: HCN_E_INVALID_SUBNET
  bool endpoints_hold_network = false;       // delete refused: HCN_E_ENTITY_HAS_REFERENCES
  bool elevated = true;                      // else every call is denied
  bool backends_must_exist = true;           // of a load balancer: HCN_E_ENDPOINT_NOT_FOUND
  UnknownFilter unknown_filter = UnknownFilter::kMatchesNone;
  V1Failures v1_failures = V1Failures::kMixed;

  bool adapter_shown = true;                // the NetAdapterName policy is told back
  bool chosen_adapter_shown = false;        // ... also where HNS chose it
  bool management_ip_follows = true;        // the host's address; else the one it had first
  bool management_ip_after_attach = false;  // of an L2Bridge: once the host has an endpoint on it
  bool disconnect_told = true;              // to subscribers; else they die in silence
  Hresult dead_handle_code = hresult::kObjectUsedAfterUnload;  // opened before a restart
};

}  // namespace weft::hns::emulator
