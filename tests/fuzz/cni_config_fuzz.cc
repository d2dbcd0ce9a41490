// SPDX-License-Identifier: Apache-2.0
// Any bytes as what `flannelctl cni` reads of others: an installed CNI configuration, containerd's
// config.toml, the API server's answers about service CIDRs.
#include <cstdint>
#include <string_view>

#include "control/cli/cni/service_cidrs.h"
#include "control/cni/containerd_folders.h"
#include "control/cni/plugin_config.h"
#include "tests/fuzz/input.h"

using weft::fuzz::Require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  weft::cni::NodeFacts facts;
  facts.network = "flannel.4096";
  facts.cluster = facts.services = {*weft::IpPrefix::Parse("10.244.0.0/16")};
  facts.subnet = weft::IpPrefix::Parse("10.244.3.0/24");
  facts.node = weft::IpAddress::Parse("10.0.0.8");
  const auto remarks = weft::cni::ExplainConfig(text, facts);
  if (remarks.ok()) {
    for (const weft::cni::Remark& each : *remarks) {
      Require(!each.member.empty(), "each remark names its member");
      Require(!each.meaning.empty() || !each.finding.empty(), "each remark says something");
    }
  }
  for (const std::string& plugin : weft::cni::PluginsOf(text)) Require(!plugin.empty(), "a name");
  if (const auto folders = weft::cni::FoldersIn(text); folders.ok())
    Require(!folders->conf_dir.empty() && !folders->bin_dir.empty(), "both folders");
  for (const auto& read : {weft::cli::ServiceCidrsOf(text), weft::cli::KubeadmServiceCidrs(text)}) {
    Require(read.ok() ? !read->empty() : !read.status().message().empty(), "CIDRs, or a cause");
  }
  return 0;
}
