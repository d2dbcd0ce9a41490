// SPDX-License-Identifier: Apache-2.0
// A node network with a reconciler whose source is the test, and a folder for its subnet.env. Only
// the test starts rounds.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/node/node_network.h"
#include "tests/support/fake_packet_filter.h"
#include "tests/support/lease_makers.h"
#include "tests/support/manual_clock.h"
#include "tests/support/test_path.h"

namespace weft::node {

class NodeNetworkFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    options_.node_name = "a";
    options_.subnet_file = Path("subnet.env");
    options_.data_plane = config::DataPlane::kNone;
    conf_.network = *IpPrefix::Parse("10.244.0.0/16");
  }
  void TearDown() override {
    network_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  std::string Env() const {
    std::ifstream in(options_.subnet_file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  void Make(std::unique_ptr<host::Host> host) {
    network_.reset();
    owned_host_ = std::move(host);
    context_.emplace(backend::Context{options_, conf_, *owned_host_, reconciler_, ledger_, hns_,
                                      nullptr,
                                      [](const std::string& device, const absl::Status& why) {
                                        ADD_FAILURE() << device << ": " << why;
                                      }});
    network_ = std::make_unique<NodeNetwork>(*context_, filter_);
  }
  // The source's first report: our Node with this podCIDR, and the peer "b".
  void Lease(const std::string& cidr, const std::string& public_ip) {
    lease::OwnNode own;
    own.node = {"a", ""};
    own.v4.subnet = *IpPrefix::Parse(cidr);
    own.v4.published_public_ip = IpAddress::Parse(public_ip);
    reconciler_.OnOwnNode(own);
    facts_ = control::DeriveOwnFacts("a", reconciler_.own_node(), conf_);
    ASSERT_TRUE(facts_.ok()) << facts_.status();
    reconciler_.SetOwn(control::IdentityOf(*facts_, conf_));
    weft::testing::ReportSnapshot(reconciler_,
                                  {weft::testing::MakeLease("a", cidr, public_ip),
                                   weft::testing::MakeLease("b", "10.244.2.0/24", "10.9.0.2")},
                                  {});
  }
  void Apply() { network_->Apply(facts_, clock_.Now()); }
  // As the daemon does in each round; what it waits for then.
  std::string Round() {
    Apply();
    network_->Settle(reconciler_.report().ready, clock_.Now());
    for (const char* check : {"interface", "tunnels"}) {
      if (!CheckNamed(check).ok) return CheckNamed(check).text;
    }
    return "";
  }
  admin::Check CheckNamed(std::string_view name) const {
    std::vector<admin::Check> checks;
    network_->AppendChecks(reconciler_.report(), checks);
    for (const admin::Check& check : checks) {
      if (check.name == name) return check;
    }
    ADD_FAILURE() << "no check " << name;
    return {};
  }

  // The first of the subject.
  const control::Condition& Condition(std::string_view subject) const {
    std::vector<backend::NamedCondition> conditions;
    network_->AppendConditions(conditions);
    for (const auto& [name, condition] : conditions) {
      if (name == subject) return condition;
    }
    ADD_FAILURE() << "no condition " << subject;
    return conditions.front().condition;
  }

  const std::filesystem::path folder_ = weft::testing::TestPath();
  config::Options options_;
  control::NetConf conf_;
  weft::testing::ManualClock clock_;
  std::shared_ptr<hns::Api> hns_;
  std::shared_ptr<ledger::NodeLedger> ledger_;
  std::shared_ptr<weft::testing::FakePacketFilter> filter_;
  control::Reconciler reconciler_{clock_, control::SystemRandom(), {}};
  absl::StatusOr<control::OwnFacts> facts_ = absl::NotFoundError("node \"a\" is not there");
  std::unique_ptr<host::Host> owned_host_;
  std::optional<backend::Context> context_;
  std::unique_ptr<NodeNetwork> network_;
};

}  // namespace weft::node
