// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/settings_json.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "control/json_fields.h"

namespace weft::hns::emulator {
namespace {

constexpr std::string_view kDuplicates[] = {"appended", "refused", "refused-by-prefix"};
constexpr std::string_view kUnknownFilter[] = {"matches-none", "ignored"};
constexpr std::string_view kStaticIpLoss[] = {"nothing", "name-servers-and-metric", "all"};
constexpr std::string_view kAdapterChoice[] = {"default-route", "random"};
constexpr std::string_view kV1Failures[] = {"mixed", "hresult", "text"};

// An absent setting keeps the value that it has.
void Plain(auto& visit, const char* name, auto& value) { visit.Always(name, value, value); }

void Time(auto& visit, const char* name, auto& value) {
  auto count = static_cast<std::uint64_t>(value.count());
  Plain(visit, name, count);
  if constexpr (control::kReads<decltype(visit)>) {
    using Unit = std::remove_reference_t<decltype(value)>;
    constexpr Unit kMost = std::chrono::hours(24 * 365);
    if (count > static_cast<std::uint64_t>(kMost.count()))
      return visit.Refuse(name, "is longer than a year");
    value = Unit(static_cast<typename Unit::rep>(count));
  }
}

void Code(auto& visit, const char* name, auto& value) {
  std::string text = absl::StrFormat("0x%08X", value);
  Plain(visit, name, text);
  if constexpr (control::kReads<decltype(visit)>)
    if (!absl::SimpleHexAtoi(text, &value)) visit.Refuse(name, "is no hexadecimal number");
}

void VersionText(auto& visit, const char* name, auto& value) {
  std::string text = value.ToString();
  Plain(visit, name, text);
  if constexpr (control::kReads<decltype(visit)>) {
    const std::vector<std::string_view> parts = absl::StrSplit(text, '.');
    if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &value.major) ||
        !absl::SimpleAtoi(parts[1], &value.minor))
      visit.Refuse(name, "is no version such as 13.3");
  }
}

void Choice(auto& visit, const char* name, const auto& words, auto& value) {
  std::string word(words[static_cast<std::size_t>(value)]);
  Plain(visit, name, word);
  if constexpr (control::kReads<decltype(visit)>) {
    const auto* const found = std::ranges::find(words, word);
    if (found == std::end(words)) return visit.Refuse(name, "is no word that is known");
    value = static_cast<std::remove_reference_t<decltype(value)>>(found - std::begin(words));
  }
}

}  // namespace

void Fields(auto& visit, control::Is<Settings> auto& s) {
  VersionText(visit, "version", s.version);
  Plain(visit, "seed", s.seed);
  Plain(visit, "language", s.language);
  Time(visit, "latency_ms", s.latency);
  Time(visit, "policy_cost_us", s.policy_cost);
  Time(visit, "object_cost_us", s.object_cost);
  Time(visit, "management_ip_ms", s.management_ip);
  Time(visit, "dr_mac_ms", s.dr_mac);
  Time(visit, "new_interface_ms", s.new_interface);
  Time(visit, "gap_ms", s.gap);
  Time(visit, "settle_ms", s.settle);
  Code(visit, "settle_code", s.settle_code);
  Time(visit, "name_release_ms", s.name_release);
  Choice(visit, "duplicates", kDuplicates, s.duplicates);
  Plain(visit, "missing_policy_refused", s.missing_policy_refused);
  Plain(visit, "atomic_batches", s.atomic_batches);
  Plain(visit, "batch_limit", s.batch_limit);
  Plain(visit, "batch_applied", s.batch_applied);
  Code(visit, "batch_code", s.batch_code);
  Time(visit, "policies_shown_ms", s.policies_shown);
  Plain(visit, "same_address_accepted", s.same_address_accepted);
  Plain(visit, "overlapping_subnets_accepted", s.overlapping_subnets_accepted);
  Plain(visit, "same_vsid_accepted", s.same_vsid_accepted);
  Plain(visit, "subnet_needed", s.subnet_needed);
  Plain(visit, "network_provider_address", s.network_provider_address);
  Plain(visit, "gateway_needed", s.gateway_needed);
  Plain(visit, "endpoints_hold_network", s.endpoints_hold_network);
  Plain(visit, "elevated", s.elevated);
  Plain(visit, "backends_must_exist", s.backends_must_exist);
  Choice(visit, "unknown_filter", kUnknownFilter, s.unknown_filter);
  Choice(visit, "v1_failures", kV1Failures, s.v1_failures);
  Plain(visit, "vsid_shown", s.vsid_shown);
  Plain(visit, "vxlan_port_shown", s.vxlan_port_shown);
  Plain(visit, "adapter_shown", s.adapter_shown);
  Plain(visit, "chosen_adapter_shown", s.chosen_adapter_shown);
  Plain(visit, "management_ip_follows", s.management_ip_follows);
  Plain(visit, "management_ip_after_attach", s.management_ip_after_attach);
  Plain(visit, "management_ip_early", s.management_ip_early);
  Time(visit, "link_local_ms", s.link_local);
  Choice(visit, "static_ip_lost", kStaticIpLoss, s.static_ip_lost);
  Plain(visit, "host_adapter", s.host_adapter);
  Choice(visit, "adapter_choice", kAdapterChoice, s.adapter_choice);
  Plain(visit, "all_endpoint_states", s.all_endpoint_states);
  Code(visit, "already_attached_code", s.already_attached_code);
  Plain(visit, "disconnect_told", s.disconnect_notified);
  Code(visit, "stopped_code", s.stopped_code);
  Code(visit, "dead_handle_code", s.dead_handle_code);
  Plain(visit, "processes_die", s.processes_die);
}

Json SettingsJson(const Settings& settings) { return control::JsonWriter::Encode(settings); }

absl::StatusOr<Settings> ReadSettings(const Json& json) {
  Settings settings;
  if (json.is_null()) return settings;
  const control::Json document = json;
  control::JsonReader visit(document, "");
  Fields(visit, settings);
  if (!visit.status().ok())
    return absl::InvalidArgumentError(
        absl::StrCat("HNS emulator's settings: ", visit.status().message()));
  const Json known = SettingsJson(settings);
  for (const auto& [name, value] : json.items()) {
    if (!known.contains(name))
      return absl::InvalidArgumentError(
          absl::StrCat("HNS emulator: there is no setting `", name, "`"));
  }
  return settings;
}

}  // namespace weft::hns::emulator
