// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/hns/model/settings_json.h"

#include <array>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace weft::hns::emulator {
namespace {

// The table of settings, used for writing and for reading.
void ForEach(auto& s, auto visit) {
  visit("version", s.version);
  visit("seed", s.seed);
  visit("language", s.language);
  visit("latency_ms", s.latency);
  visit("policy_cost_us", s.policy_cost);
  visit("object_cost_us", s.object_cost);
  visit("management_ip_ms", s.management_ip);
  visit("dr_mac_ms", s.dr_mac);
  visit("new_interface_ms", s.new_interface);
  visit("gap_ms", s.gap);
  visit("settle_ms", s.settle);
  visit("settle_code", s.settle_code);
  visit("name_release_ms", s.name_release);
  visit("duplicates", s.duplicates);
  visit("missing_policy_refused", s.missing_policy_refused);
  visit("atomic_batches", s.atomic_batches);
  visit("batch_limit", s.batch_limit);
  visit("batch_applied", s.batch_applied);
  visit("batch_code", s.batch_code);
  visit("policies_shown_ms", s.policies_shown);
  visit("same_address_accepted", s.same_address_accepted);
  visit("overlapping_subnets_accepted", s.overlapping_subnets_accepted);
  visit("same_vsid_accepted", s.same_vsid_accepted);
  visit("subnet_needed", s.subnet_needed);
  visit("network_provider_address", s.network_provider_address);
  visit("gateway_needed", s.gateway_needed);
  visit("endpoints_hold_network", s.endpoints_hold_network);
  visit("elevated", s.elevated);
  visit("backends_must_exist", s.backends_must_exist);
  visit("unknown_filter", s.unknown_filter);
  visit("v1_failures", s.v1_failures);
  visit("vsid_shown", s.vsid_shown);
  visit("vxlan_port_shown", s.vxlan_port_shown);
  visit("adapter_shown", s.adapter_shown);
  visit("chosen_adapter_shown", s.chosen_adapter_shown);
  visit("management_ip_follows", s.management_ip_follows);
  visit("management_ip_after_attach", s.management_ip_after_attach);
  visit("management_ip_early", s.management_ip_early);
  visit("link_local_ms", s.link_local);
  visit("static_ip_lost", s.static_ip_lost);
  visit("host_adapter", s.host_adapter);
  visit("adapter_choice", s.adapter_choice);
  visit("all_endpoint_states", s.all_endpoint_states);
  visit("already_attached_code", s.already_attached_code);
  visit("disconnect_told", s.disconnect_notified);
  visit("stopped_code", s.stopped_code);
  visit("dead_handle_code", s.dead_handle_code);
  visit("processes_die", s.processes_die);
}

constexpr std::array<std::string_view, 3> kDuplicates = {"appended", "refused",
                                                         "refused-by-prefix"};
constexpr std::array<std::string_view, 2> kUnknownFilter = {"matches-none", "ignored"};
constexpr std::array<std::string_view, 3> kStaticIpLoss = {"nothing", "name-servers-and-metric",
                                                           "all"};
constexpr std::array<std::string_view, 2> kAdapterChoice = {"default-route", "random"};
constexpr std::array<std::string_view, 3> kV1Failures = {"mixed", "hresult", "text"};

Json Write(bool value) { return value; }
Json Write(std::uint64_t value) { return value; }
Json Write(Hresult value) { return absl::StrFormat("0x%08X", value); }
Json Write(const std::string& value) { return value; }
Json Write(Milliseconds value) { return value.count(); }
Json Write(Microseconds value) { return value.count(); }
Json Write(Version value) { return absl::StrCat(value.major, ".", value.minor); }
Json Write(Duplicates value) { return kDuplicates.at(static_cast<std::size_t>(value)); }
Json Write(UnknownFilter value) { return kUnknownFilter.at(static_cast<std::size_t>(value)); }
Json Write(host::StaticIpLoss value) { return kStaticIpLoss.at(static_cast<std::size_t>(value)); }
Json Write(AdapterChoice value) { return kAdapterChoice.at(static_cast<std::size_t>(value)); }
Json Write(V1Failures value) { return kV1Failures.at(static_cast<std::size_t>(value)); }

bool Read(const Json& json, bool& value) {
  if (json.is_boolean()) value = json.get<bool>();
  return json.is_boolean();
}
bool Read(const Json& json, std::uint64_t& value) {
  if (json.is_number_unsigned()) value = json.get<std::uint64_t>();
  return json.is_number_unsigned();
}
bool Read(const Json& json, Hresult& value) {
  return json.is_string() && absl::SimpleHexAtoi(TextOf(json), &value);
}
bool Read(const Json& json, std::string& value) {
  value = TextOf(json);
  return json.is_string();
}
bool Read(const Json& json, Milliseconds& value) {
  constexpr std::uint64_t kMost = 1000ull * 60 * 60 * 24 * 365;
  std::uint64_t count = 0;
  if (!Read(json, count) || count > kMost) return false;
  value = Milliseconds(count);
  return true;
}
bool Read(const Json& json, Microseconds& value) {
  constexpr std::uint64_t kMost = 1000ull * 1000 * 60 * 60;
  std::uint64_t count = 0;
  if (!Read(json, count) || count > kMost) return false;
  value = Microseconds(count);
  return true;
}
bool Read(const Json& json, Version& value) {
  const std::string text = TextOf(json);
  const std::vector<std::string_view> parts = absl::StrSplit(text, '.');
  return parts.size() == 2 && absl::SimpleAtoi(parts[0], &value.major) &&
         absl::SimpleAtoi(parts[1], &value.minor);
}
template <typename Enum, std::size_t N>
bool ReadWord(const Json& json, const std::array<std::string_view, N>& words, Enum& value) {
  for (std::size_t at = 0; at < N; ++at) {
    if (json != words[at]) continue;
    value = static_cast<Enum>(at);
    return true;
  }
  return false;
}
bool Read(const Json& json, Duplicates& value) { return ReadWord(json, kDuplicates, value); }
bool Read(const Json& json, UnknownFilter& value) { return ReadWord(json, kUnknownFilter, value); }
bool Read(const Json& json, host::StaticIpLoss& value) {
  return ReadWord(json, kStaticIpLoss, value);
}
bool Read(const Json& json, AdapterChoice& value) { return ReadWord(json, kAdapterChoice, value); }
bool Read(const Json& json, V1Failures& value) { return ReadWord(json, kV1Failures, value); }

}  // namespace

Json SettingsJson(const Settings& settings) {
  Json json = Json::object();
  ForEach(settings, [&](const char* name, const auto& value) { json[name] = Write(value); });
  return json;
}

absl::StatusOr<Settings> ReadSettings(const Json& json) {
  Settings settings;
  if (!json.is_object() && !json.is_null())
    return absl::InvalidArgumentError("HNS emulator: `settings` is no JSON object");
  std::size_t known = 0;
  std::string wrong;
  ForEach(settings, [&](const char* name, auto& value) {
    const auto found = json.find(name);
    if (found == json.end()) return;
    ++known;
    if (!Read(*found, value)) wrong = name;
  });
  if (!wrong.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("HNS emulator: the setting `", wrong, "` cannot be ", Dump(json[wrong])));
  }
  if (known != json.size()) {
    for (auto it = json.begin(); it != json.end(); ++it) {
      if (SettingsJson(settings).contains(it.key())) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("HNS emulator: there is no setting `", it.key(), "`"));
    }
  }
  return settings;
}

}  // namespace weft::hns::emulator
