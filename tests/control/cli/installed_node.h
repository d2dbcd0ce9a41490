// SPDX-License-Identifier: Apache-2.0
// A node on which flanneld was installed and ran: its network in an emulated HNS, its files, and
// those of other programs next to them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "control/cni/installed_config.h"
#include "control/cni/source_vip.h"
#include "control/emulator/remote/remote_server.h"
#include "control/ledger/ledger.h"
#include "hns/client.h"
#include "hns/object_ledger.h"
#include "hns/overlay_plan.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/ledger_rows.h"
#include "tests/support/test_path.h"

namespace weft::cli {

class InstalledNode {
 public:
  InstalledNode() { Sow(); }
  ~InstalledNode() { std::filesystem::remove_all(root_); }
  InstalledNode(const InstalledNode&) = delete;
  InstalledNode& operator=(const InstalledNode&) = delete;

  // Everything again, as at first.
  void Sow() {
    std::filesystem::remove_all(root_);
    hns_.reset();
    hns_ = std::make_unique<Hns>();
    Write("run/subnet.env", "FLANNEL_SUBNET=10.244.1.1/24\n");
    Write("run/foreign", "x");
    Write("vip.json",
          cni::SourceVipJson(*IpAddress::Parse("10.244.1.2"), *IpPrefix::Parse("10.244.1.0/24")));
    Write("store/flannel.4096/10.244.1.2", "kube-proxy\r\nsource-vip");
    Write("store/flannel.4096/10.244.1.9", "4711\r\neth0");
    Write("store/flannel.4096/last_reserved_ip.0", "10.244.1.9");
    Write("store/flannel.4096/lock", "");
    Write("store/other/10.9.0.2", "x");
    Write("log/flanneld.log", "x");
    Write("log/flanneld.1.log", "x");
    Write("log/foreign.log", "x");
    Write("state/journal.json", "{}");
    Write("state/lock", "");
    Write("net.d/05-foreign.conf", "{}");
    EXPECT_TRUE(cni::InstallConfig({At("state"), At("net.d/10-flannel.conf"), "{}\n"}).ok());
    const hns::Network ours = Network("flannel.4096", "10.244.1.0/24");
    Make(Network("nat", "10.9.1.0/24"));
    network_ = Make(ours);
    ledger::Ledger ledger(At("state"));
    EXPECT_TRUE(ledger.Load().ok());
    const ledger::Row row{"hns-network", "flannel.4096", network_, false, hns::ShapeOf(ours)};
    EXPECT_TRUE(ledger.Confirm(ledger::EntryFrom(row)).ok());
  }
  void Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  // The endpoint of a container in our network.
  void StartPod(const std::string& name) {
    hns::Endpoint endpoint;
    endpoint.name = name;
    endpoint.network = *hns::Guid::Parse(network_);
    endpoint.ip_configurations = {{*IpAddress::Parse("10.244.1.9"), 24}};
    const auto made = hns_->client.CreateEndpoint(endpoint);
    ASSERT_TRUE(made.ok()) << made.status();
    const hns::Reply space =
        hns_->node.hns().Create(hns::Kind::kNamespace, hns::Handle::kNone, hns::Guid(),
                                R"({"Type":"Guest","SchemaVersion":{"Major":2,"Minor":0}})");
    const hns::Reply put = hns_->node.hns().Modify(
        hns::Kind::kNamespace, space.handle,
        R"({"ResourceType":"Endpoint","RequestType":"Add","Settings":{"EndpointId":")" +
            made->id.ToString() + R"("}})");
    ASSERT_TRUE(put.ok()) << put.error_record;
  }

  std::string At(const std::string& name) const { return (root_ / name).string(); }
  std::string hns() const { return "emulator:" + hns_->server->path(); }
  weft::hns::emulator::Emulator& emulator() { return hns_->node.hns(); }
  // flanneld's flags for these places.
  std::vector<std::string> Flags() const {
    return {"--state-dir=" + At("state"), "--subnet-file=" + At("run/subnet.env"),
            "--source-vip-store=" + At("store"), "--source-vip-file=" + At("vip.json"),
            "--log-dir=" + At("log")};
  }
  // Files with their texts, folders with a slash, and the networks of HNS.
  std::vector<std::string> State() {
    std::vector<std::string> state;
    for (const auto& each : std::filesystem::recursive_directory_iterator(root_)) {
      std::string row = std::filesystem::relative(each.path(), root_).generic_string();
      if (each.is_directory()) {
        row += "/";
      } else {
        std::ifstream file(each.path(), std::ios::binary);
        row += "=" + std::string(std::istreambuf_iterator<char>(file), {});
      }
      state.push_back(std::move(row));
    }
    const std::vector<hns::Network> networks = hns_->client.Networks().value();
    for (const hns::Network& network : networks) state.push_back("network " + network.name);
    std::ranges::sort(state);
    return state;
  }
  // Of a node that flanneld has left: what was foreign, and folders that were there before it.
  static std::vector<std::string> Left() {
    return {"log/",          "log/foreign.log=x",
            "net.d/",        "net.d/05-foreign.conf={}",
            "network nat",   "run/",
            "run/foreign=x", "store/",
            "store/other/",  "store/other/10.9.0.2=x"};
  }

 private:
  static hns::Network Network(const std::string& name, const std::string& subnet) {
    return hns::OverlayNetwork({name, *IpPrefix::Parse(subnet), *hns::IsolationId::From(4096), 4789,
                                "Ethernet", *IpAddress::Parse("192.168.1.10"), false});
  }
  std::string Make(const hns::Network& network) {
    auto made = hns_->client.Create(network);
    EXPECT_TRUE(made.ok()) << made.status();
    return made->Read()->id.ToString();
  }

  const std::filesystem::path root_ = weft::testing::TestPath();
  struct Hns {
    hns::emulator::SystemClock clock;
    weft::testing::EthernetNode node{clock};
    hns::Client client{node.hns()};
    std::unique_ptr<hns::emulator::RemoteServer> server =
        hns::emulator::RemoteServer::Start(weft::testing::TestSocket(".sock"), node.hns(), nullptr)
            .value();
  };
  std::unique_ptr<Hns> hns_;
  std::string network_;
};

}  // namespace weft::cli
