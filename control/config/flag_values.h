// SPDX-License-Identifier: Apache-2.0
// The values behind flanneld's flags and FLANNELD_* variables, with upstream flannel's defaults.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::config {

// Values that Options (options.h) has as they were given, once they are validated.
struct PlainValues {
  bool kube_subnet_mgr = false;
  std::string net_config_path = "/etc/kube-flannel/net-conf.json";
  std::string node_name;
  std::string kubeconfig_file;
  std::vector<std::string> kube_api_url;  // each may be several, separated by commas
  std::string kubelet_kubeconfig = "/etc/kubernetes/kubelet.conf";
  std::string kube_annotation_prefix = "flannel.alpha.coreos.com";
  bool set_node_network_unavailable = true;

  // Which interface carries the outer packets.
  std::vector<std::string> iface;
  std::vector<std::string> iface_regex;
  std::string iface_can_reach;
  std::string public_ip;
  std::string public_ipv6;

  // How packets are forwarded.
  bool hns_base_network = false;
  bool manage_firewall = true;  // Windows
  bool udp_checksum = true;
  bool ip_masq = false;
  bool ip_masq_fully_random_disable = false;  // Linux
  bool iptables_forward_rules = true;         // Linux
  bool replace_kernel_device = false;         // Linux

  // Files and endpoints.
  std::string subnet_file = "/run/flannel/subnet.env";
  std::string healthz_ip = "0.0.0.0";
  std::string source_vip_store = "/var/lib/cni/networks";  // empty: no source VIP
  std::string source_vip_file;                             // empty: none
  std::string state_dir;                                   // empty: control::DefaultStateFolder()
  std::string trace;                                       // empty: none
};

// As given: ParseFlags has checked only the closed lists (dataplane, peer_check, ...).
// Options has their meaning.
struct FlagValues : PlainValues {
  std::string lease_source;  // "file:PATH"

  std::string dataplane;   // empty: the system's default
  std::string hns;         // "emulator:PATH"; empty: the system's own
  std::string pod_device;  // empty: the system's default
  std::string peer_check = "lease";
  std::string busy_poll;  // microseconds; empty: dataplane::BusyPoll's default
  std::string superframes = "cut";
  std::string workers;  // empty: by the machine's processors
  std::string firewall_sources = "any";
  std::int64_t iptables_resync = 5;  // seconds; Linux
  std::int64_t healthz_port = 0;     // zero or less: no server
  std::string admin;                 // empty: the default endpoint; "none": no endpoint

  // Logs.
  std::string log_format = "klog";
  std::string log_dir;              // empty: no file
  std::int64_t log_file_size = 20;  // MiB
  std::int64_t log_files = 5;
  std::int64_t verbosity = 0;
  std::string vmodule;
  std::string log_backtrace_at;

  // Accepted because command lines written for upstream have them.
  std::string etcd_endpoints = "http://127.0.0.1:4001,http://127.0.0.1:2379";
  std::string etcd_prefix = "/coreos.com/network";
  std::string etcd_keyfile, etcd_certfile, etcd_cafile, etcd_username, etcd_password;
  std::int64_t subnet_lease_renew_margin = 60;  // minutes; upstream checks it in every mode
  bool ip_blackhole_route = false;

  bool version = false;

  std::vector<std::string_view> given;  // names of FlagTable: by flag or by variable
};

}  // namespace weft::config
