// SPDX-License-Identifier: Apache-2.0
#include "control/metrics/metric_table.h"

namespace weft::metrics {
namespace {

constexpr MetricRow kTable[] = {
    {"weft_build_info",
     Type::kGauge,
     {"version", "backend", "dataplane"},
     "Always 1: the version, net-conf's Backend.Type and --dataplane."},
    {"process_start_time_seconds", Type::kGauge, {}, "When flanneld started, in Unix seconds."},
    {"weft_ready", Type::kGauge, {}, "1 while /readyz answers 200."},
    {"weft_check_ok", Type::kGauge, {"check"}, "1 while this check of /readyz is ok."},
    {"weft_condition_active",
     Type::kGauge,
     {"subject"},
     "1 while \"flannelctl status\" reports a condition of this subject."},
    {"weft_leases",
     Type::kGauge,
     {"family", "state"},
     "Leases of all nodes by state, each address family counted on its own."},
    {"weft_nodes_without_lease",
     Type::kGauge,
     {"reason"},
     "Nodes that cannot be read (refused) or that lack flannel's annotations (not-joined)."},
    {"weft_lease_sync_age_seconds",
     Type::kGauge,
     {},
     "Since the source of leases last answered: an event or bookmark of the API server, which come "
     "at least each minute, or a reading of the lease file. Missing before the first snapshot."},
    {"weft_routes",
     Type::kGauge,
     {"sink", "state"},
     "Routes to peers: desired, applied (read back), failed."},
    {"weft_reconcile_duration_seconds",
     Type::kHistogram,
     {},
     "How long the control thread worked on each round of changes."},
    {"weft_hns_call_duration_seconds",
     Type::kHistogram,
     {"op", "result"},
     "Calls into HNS by function and result: ok, error, or gone (the service does not run)."},
    {"weft_hns_calls_in_progress", Type::kGauge, {}, "Calls into HNS that have not returned."},
    {"weft_hns_restarts_total",
     Type::kCounter,
     {},
     "How often HNS ended after it had answered, by its calls and its notification."},
    {"weft_hns_drift_repairs_total",
     Type::kCounter,
     {"kind"},
     "What another program or HNS itself removed or changed, and flanneld restored: network, "
     "host-route, route, endpoint (the host's own in host-gw's network)."},
    {"weft_network_blip_seconds",
     Type::kGauge,
     {},
     "From the call that created the network in HNS until an adapter had its management IP: for "
     "about this time the node was unreachable. Missing while this process created none."},
    {"weft_api_watch_restarts_total",
     Type::kCounter,
     {},
     "Watches of Nodes that followed another."},
    {"weft_api_lists_total", Type::kCounter, {}, "Lists of all Nodes that were requested."},
    {"weft_api_errors_total",
     Type::kCounter,
     {"request"},
     "Requests to the API server that failed: nodes, publish (our annotations), pod (our name)."},
    {"weft_encap_packets_total",
     Type::kCounter,
     {"family", "dir"},
     "Packets that the userspace data plane forwarded."},
    {"weft_encap_bytes_total",
     Type::kCounter,
     {"family", "dir"},
     "Inner bytes that the userspace data plane forwarded."},
    {"weft_drop_packets_total",
     Type::kCounter,
     {"family", "dir", "reason"},
     "Packets that the userspace data plane dropped, by drop reason."},
    {"weft_icmp_errors_sent_total", Type::kCounter, {"family"}, "ICMP errors sent to own pods."},
    {"weft_kernel_events_total",
     Type::kCounter,
     {"family", "event"},
     "What the kernel and the userspace data plane's ports count, as \"flannelctl status\" names "
     "it: socket-overflow, icmp-refused, ..."},
};
static_assert(sizeof(kTable) / sizeof(kTable[0]) == kMetrics);

}  // namespace

constexpr std::string_view kTypes[] = {"gauge", "counter", "histogram"};
std::string_view Name(Type type) { return kTypes[static_cast<std::size_t>(type)]; }

std::span<const MetricRow, kMetrics> MetricTable() { return kTable; }

}  // namespace weft::metrics
