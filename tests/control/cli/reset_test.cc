// SPDX-License-Identifier: Apache-2.0
// flannelctl reset, on an emulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>

#include "control/admin/admin_server.h"
#include "control/emulator/remote/remote_server.h"
#include "control/file_io.h"
#include "control/ledger/ledger.h"
#include "control/process_lock.h"
#include "hns/base_network.h"
#include "hns/client.h"
#include "hns/object_ledger.h"
#include "hns/overlay_plan.h"
#include "tests/control/admin/running_server.h"
#include "tests/control/admin/samples.h"
#include "tests/control/cli/call.h"
#include "tests/support/ethernet_node.h"
#include "tests/support/files/foreign_file.h"
#include "tests/support/ledger_rows.h"
#include "tests/support/test_path.h"

namespace weft::cli {
namespace {

using LedgerRow = ledger::Row;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ResetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  hns::OverlaySpec Spec(const std::string& name, const std::string& subnet) const {
    return {name,
            *IpPrefix::Parse(subnet),
            *hns::IsolationId::From(4096),
            4789,
            "Ethernet",
            *IpAddress::Parse("192.168.1.10"),
            false};
  }
  // The id of a network made outside the test's flanneld.
  std::string Make(const hns::Network& network) {
    auto made = client_.Create(network);
    EXPECT_TRUE(made.ok()) << made.status();
    return made->Read()->id.ToString();
  }
  std::vector<std::string> Networks() {
    std::vector<std::string> names;
    const auto networks = client_.Networks();
    EXPECT_TRUE(networks.ok()) << networks.status();
    if (!networks.ok()) return names;
    for (const hns::Network& network : *networks) names.push_back(network.name);
    return names;
  }
  void Enter(const LedgerRow& row) const {
    ledger::Ledger ledger(folder_);
    ASSERT_TRUE(ledger.Load().ok());
    ASSERT_TRUE(ledger.Confirm(ledger::EntryFrom(row)).ok());
  }
  std::vector<LedgerRow> Entries() const { return weft::testing::RowsOnDisk(folder_); }
  Outcome Reset(std::vector<std::string> words = {}) const {
    words.insert(words.begin(), {"reset", "--hns=emulator:" + server_->path(),
                                 "--state-dir=" + folder_, "--admin=none"});
    return Call(words);
  }

  // A container's endpoint, or kube-proxy's, which is in no namespace; its id.
  std::string MakeEndpoint(const std::string& network, const char* name, const char* address,
                           bool in_a_namespace, std::uint32_t flags = 0) {
    hns::Endpoint endpoint;
    endpoint.name = name;
    endpoint.network = *hns::Guid::Parse(network);
    endpoint.ip_configurations = {{*IpAddress::Parse(address), 24}};
    endpoint.flags = flags;
    const auto made = client_.CreateEndpoint(endpoint);
    EXPECT_TRUE(made.ok()) << made.status();
    if (!in_a_namespace) return made->id.ToString();
    const hns::Reply space =
        node_.hns().Create(hns::Kind::kNamespace, hns::Handle::kNone, hns::Guid(),
                           R"({"Type":"Guest","SchemaVersion":{"Major":2,"Minor":0}})");
    const hns::Reply put = node_.hns().Modify(
        hns::Kind::kNamespace, space.handle,
        R"({"ResourceType":"Endpoint","RequestType":"Add","Settings":{"EndpointId":")" +
            made->id.ToString() + R"("}})");
    EXPECT_TRUE(put.ok()) << put.error_record;
    return made->id.ToString();
  }

  // A node: HNS with flannel.4096, External and another's network, and the ledger of a flanneld.
  hns::emulator::SystemClock clock_;
  weft::testing::EthernetNode node_{clock_};
  hns::Client client_{node_.hns()};
  std::unique_ptr<hns::emulator::RemoteServer> server_ =
      hns::emulator::RemoteServer::Start(weft::testing::TestSocket(".sock"), node_.hns(), nullptr)
          .value();
  const std::string folder_ = weft::testing::TestPath().string();
  const hns::Network ours_ = hns::OverlayNetwork(Spec("flannel.4096", "10.244.1.0/24"));
  const hns::Network other_ = hns::OverlayNetwork(Spec("nat", "10.9.1.0/24"));
};

TEST_F(ResetTest, WithoutALedgerThereIsNothingToDo) {
  Make(ours_);
  const Outcome outcome = Reset();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "nothing to do: the ledger " + folder_ + "/ledger.json was never written\n");
  EXPECT_THAT(Networks(), ElementsAre("flannel.4096"));
}

TEST_F(ResetTest, ASlashAfterTheFoldersNameIsNoPartOfIt) {
  const Outcome outcome = Call({"reset", "--state-dir=" + folder_ + "//", "--admin=none"});
  EXPECT_EQ(outcome.out,
            "nothing to do: the ledger " + folder_ + "/ledger.json was never written\n");
}

TEST_F(ResetTest, DeletesOursAndNothingElseTwiceInARow) {
  Make(other_);
  const std::string id = Make(ours_);
  Enter({"hns-network", "flannel.4096", id, false, hns::ShapeOf(ours_)});

  const Outcome dry = Reset({"--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_EQ(dry.out, "would delete network flannel.4096 (" + id + ")\n");
  EXPECT_EQ(Networks().size(), 2u);
  EXPECT_EQ(Entries().size(), 1u);

  const Outcome first = Reset();
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, "deleted network flannel.4096 (" + id + ")\n");
  EXPECT_THAT(Networks(), ElementsAre("nat"));
  EXPECT_THAT(Entries(), IsEmpty());

  EXPECT_EQ(Reset().code, 0);
  EXPECT_THAT(Reset().out, HasSubstr("nothing to do"));
}

TEST_F(ResetTest, AdoptedObjectsAreKept) {
  Enter({"hns-network", "flannel.4096", Make(ours_), true, hns::ShapeOf(ours_)});
  const Outcome outcome = Reset();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "left network flannel.4096: it existed before weft\n");
  EXPECT_THAT(Networks(), ElementsAre("flannel.4096"));
}

TEST_F(ResetTest, AnObjectWithAnotherIdIsForeign) {
  Make(ours_);
  Enter({"hns-network", "flannel.4096", "55fedb88-4b11-4da4-8cd1-59970718a804", false, ""});
  EXPECT_EQ(Reset().out, "network flannel.4096 is gone already\n");
  EXPECT_THAT(Networks(), ElementsAre("flannel.4096"));
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(ResetTest, WithoutAnIdItIsFoundByNameAndShape) {
  Make(ours_);
  Enter({"hns-network", "flannel.4096", "", false, "Overlay 10.244.9.0/24 VSID 4096"});
  EXPECT_EQ(Reset().out, "network flannel.4096 is gone already\n");
  EXPECT_THAT(Networks(), ElementsAre("flannel.4096"));
  // After a boot it may be foreign: upstream makes the same.
  Enter({"hns-network", "flannel.4096", "", false, hns::ShapeOf(ours_), "an earlier boot"});
  EXPECT_EQ(Reset().out, "network flannel.4096 is gone already\n");
  EXPECT_THAT(Networks(), ElementsAre("flannel.4096"));
  Enter({"hns-network", "flannel.4096", "", false, hns::ShapeOf(ours_), control::BootId()});
  EXPECT_THAT(Reset().out, HasSubstr("deleted network flannel.4096"));
  EXPECT_THAT(Networks(), IsEmpty());
}

TEST_F(ResetTest, TheBaseNetworkIsDeletedLastOrKept) {
  const hns::Network base = hns::BaseNetwork(Spec("flannel.4096", "10.244.1.0/24"));
  Enter({"hns-network", "External", Make(base), false, hns::ShapeOf(base)});
  Enter({"hns-network", "flannel.4096", Make(ours_), false, hns::ShapeOf(ours_)});
  EXPECT_THAT(Reset({"--keep-vswitch"}).out,
              AllOf(::testing::StartsWith("deleted network flannel.4096"),
                    HasSubstr("left network External: it keeps the vSwitch\n")));
  EXPECT_THAT(Networks(), ElementsAre("External"));
  EXPECT_THAT(Reset().out, HasSubstr("deleted network External"));
  EXPECT_THAT(Networks(), IsEmpty());
}

TEST_F(ResetTest, EndpointsAreDeletedBeforeTheirNetworkAndPodsWithIt) {
  const std::string id = Make(ours_);
  Enter({"hns-network", "flannel.4096", id, false, hns::ShapeOf(ours_)});
  {
    for (const char* name : {"ours", "pod"}) {
      hns::Endpoint endpoint;
      endpoint.name = name;
      endpoint.network = *hns::Guid::Parse(id);
      endpoint.ip_configurations = {
          {*IpAddress::Parse(name[0] == 'o' ? "10.244.1.2" : "10.244.1.7"), 24}};
      const auto made = client_.CreateEndpoint(endpoint);
      ASSERT_TRUE(made.ok()) << made.status();
      if (name[0] == 'o') Enter({"hns-endpoint", "ours", made->id.ToString(), false, "10.244.1.2"});
    }
  }
  const Outcome outcome = Reset();
  EXPECT_THAT(outcome.out, AllOf(::testing::StartsWith("deleted endpoint ours ("),
                                 HasSubstr("), and with it 1 endpoint in it\n")));
  EXPECT_THAT(Networks(), IsEmpty());
}

TEST_F(ResetTest, UnderRunningPodsItIsRefusedUnlessForced) {
  const std::string id = Make(ours_);
  const LedgerRow network{"hns-network", "flannel.4096", id, false, hns::ShapeOf(ours_)};
  Enter(network);
  MakeEndpoint(id, "source-vip", "10.244.1.200", /*in_a_namespace=*/false);
  MakeEndpoint(id, "pod-a", "10.244.1.7", /*in_a_namespace=*/true);
  MakeEndpoint(id, "pod-b", "10.244.1.8", /*in_a_namespace=*/true);
  // It is ours, and is deleted.
  const std::string own = MakeEndpoint(id, "ours", "10.244.1.2", /*in_a_namespace=*/true);
  Enter({"hns-endpoint", "ours", own, false, "10.244.1.2"});

  const Outcome refused = Reset();
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(refused.err,
            "flannelctl reset: 2 pods run in what would be deleted (pod-a; pod-b); drain this node "
            "first, or give --force\n");
  EXPECT_EQ(Entries().size(), 2u) << "nothing was begun";

  const Outcome dry = Reset({"--dry-run"});
  EXPECT_EQ(dry.code, 1);
  EXPECT_THAT(dry.out, HasSubstr("would delete network flannel.4096"));
  EXPECT_THAT(dry.err, HasSubstr("it would be refused: 2 pods run"));

  const Outcome forced = Reset({"--force"});
  EXPECT_EQ(forced.code, 0) << forced.err;
  EXPECT_THAT(Networks(), IsEmpty());
  EXPECT_THAT(Entries(), IsEmpty());
}

TEST_F(ResetTest, PodsInKeptNetworksDoNotPreventIt) {
  const hns::Network base = hns::BaseNetwork(Spec("flannel.4096", "10.244.1.0/24"));
  const std::string kept = Make(base), adopted = Make(other_);
  Enter({"hns-network", "External", kept, false, hns::ShapeOf(base)});
  Enter({"hns-network", "nat", adopted, true, hns::ShapeOf(other_)});
  MakeEndpoint(kept, "a", "192.168.255.2", /*in_a_namespace=*/true);
  MakeEndpoint(adopted, "b", "10.9.1.7", /*in_a_namespace=*/true);
  MakeEndpoint(Make(ours_), "c", "10.244.1.7", /*in_a_namespace=*/true);  // in no ledger
  const Outcome outcome = Reset({"--keep-vswitch"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Reset().code, 2) << "now the base network would go";
}

// Its leases must not come back at the next start, whatever the ledger lists.
TEST_F(ResetTest, TheJournalIsDeleted) {
  const std::string journal = folder_ + "/journal.json";
  const std::string line = "deleted the journal " + journal + "\n";
  std::ofstream(journal) << "{}";
  EXPECT_EQ(Reset({"--dry-run"}).out.find("journal"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(journal));
  EXPECT_THAT(Reset().out, ::testing::StartsWith(line));
  EXPECT_FALSE(std::filesystem::exists(journal));
  Enter({"hns-network", "flannel.4096", Make(ours_), false, hns::ShapeOf(ours_)});
  std::ofstream(journal) << "{}";
  EXPECT_THAT(Reset().out, ::testing::StartsWith(line));
  EXPECT_FALSE(std::filesystem::exists(journal));
}

// What a later weft made is not known.
TEST_F(ResetTest, StateOfALaterVersionIsRefusedAndLeft) {
  Make(ours_);
  const std::pair<const char*, const char*> rows[] = {
      {"ledger.json", R"({"format": "weft/ledger/v1", "version": 2, "entries": []})"},
      {"journal.json", "{\"apiVersion\": \"weft/journal/v1\", \"version\": 2}\n{}\n"},
      {"cni.json", "{\n  \"apiVersion\": \"weft/cni/v1\",\n  \"version\": 2\n}\n"}};
  for (const auto& [name, text] : rows) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    for (const std::vector<std::string>& words : {std::vector<std::string>{}, {"--all"}}) {
      const Outcome outcome = Reset(words);
      EXPECT_EQ(outcome.code, 2) << name;
      EXPECT_THAT(outcome.err, AllOf(HasSubstr(path), HasSubstr("a later weft wrote it")));
      std::ifstream in(path);
      EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
    }
    std::filesystem::remove(path);
  }
  EXPECT_THAT(Networks(), ElementsAre("flannel.4096"));
}

TEST_F(ResetTest, AMissingFolderIsAnError) {
  std::filesystem::remove_all(folder_);
  const Outcome outcome = Reset();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "flannelctl reset: there is no folder " + folder_ +
                             ", so what flanneld created here is not known; if flanneld ran with "
                             "another --state-dir, give that one\n");
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

// Else any user of the machine could choose what an administrator deletes.
TEST_F(ResetTest, AnotherUsersFolderOrLedgerIsNotTrusted) {
  Enter({"hns-network", "flannel.4096", Make(ours_), false, hns::ShapeOf(ours_)});
  ASSERT_TRUE(weft::testing::AllowOtherUsersToWrite(folder_ + "/ledger.json"));
  const Outcome ledger = Reset();
  EXPECT_EQ(ledger.code, 2);
  EXPECT_THAT(ledger.err,
              AllOf(HasSubstr("ledger.json may be written by "), HasSubstr("is not trusted")));
  ASSERT_TRUE(weft::testing::GiveAway(folder_));
  const Outcome folder = Reset();
  EXPECT_EQ(folder.code, 2);
  EXPECT_THAT(folder.err, AllOf(HasSubstr("is not trusted"), HasSubstr(" belongs to ")));
  EXPECT_THAT(Networks(), ElementsAre("flannel.4096"));
}

TEST_F(ResetTest, WhileAFlanneldRunsItIsRefused) {
  Enter({"hns-network", "flannel.4096", Make(ours_), false, hns::ShapeOf(ours_)});
  const auto lock = control::ProcessLock::TryTake(ledger::LedgerLockPath(folder_));
  ASSERT_TRUE(lock.ok());
  const Outcome outcome = Reset();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("flanneld runs"), HasSubstr("stop it first")));
  EXPECT_THAT(Networks(), ElementsAre("flannel.4096"));
}

// It has made nothing yet, so its ledger is not locked by it, or it is another's.
TEST_F(ResetTest, WhileAFlanneldAnswersItIsRefused) {
  Enter({"hns-network", "flannel.4096", Make(ours_), false, hns::ShapeOf(ours_)});
  admin::FakeState state;
  state.status.hns.reset();
  admin::RunningServer server{admin::AdminHandler(state)};
  const struct {
    const char* dataplane;
    bool hns;
    int code;
  } rows[] = {{"hns", false, 2},
              {"routes", false, 2},
              {"userspace", false, 2},
              {"none", true, 2},
              {"none", false, 0}};
  for (const auto& row : rows) {
    server.Do([&](admin::HttpServer&) {
      state.status.dataplane = row.dataplane;
      state.status.hns.reset();
      if (row.hns) state.status.hns.emplace();
    });
    const Outcome outcome = Call({"reset", "--dry-run", "--hns=emulator:" + server_->path(),
                                  "--state-dir=" + folder_, "--admin=" + server.endpoint()});
    EXPECT_EQ(outcome.code, row.code) << row.dataplane << outcome.err;
    if (row.code != 0)
      EXPECT_THAT(outcome.err, AllOf(HasSubstr("flanneld runs"), HasSubstr(server.endpoint())));
  }
}

TEST_F(ResetTest, AForeignAnswerIsRefusedAndSilenceIsNot) {
  const admin::RawServer server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  const auto reset = [&](const std::string& endpoint) {
    return Call({"reset", "--state-dir=" + folder_, "--admin=" + endpoint});
  };
  EXPECT_EQ(reset(server.endpoint() + ".not").code, 0);
  EXPECT_EQ(reset(server.endpoint()).code, 2);
}

TEST_F(ResetTest, WithoutAnAnswerOfHnsNothingIsDeleted) {
  const LedgerRow network{"hns-network", "flannel.4096", "", false, hns::ShapeOf(ours_)};
  Enter(network);
  const std::string path = server_->path();
  server_.reset();
  EXPECT_EQ(
      Call({"reset", "--state-dir=" + folder_, "--admin=none", "--hns=emulator:" + path}).code, 2);
  EXPECT_THAT(Entries(), ElementsAre(network));
}

TEST_F(ResetTest, HnsIsNotAskedAboutRoutes) {
  ledger::Ledger ledger(folder_);
  ASSERT_TRUE(ledger.Load().ok());
  ASSERT_TRUE(
      ledger
          .Confirm(ledger::HostRoute{*IpPrefix::Parse("198.51.100.0/24"),
                                     *IpAddress::Parse("192.0.2.1"), false, "an earlier boot"})
          .ok());
  node_.hns().Stop();
  EXPECT_EQ(Reset({"--dry-run"}).code, 0);
}

TEST_F(ResetTest, ADryRunOfWhatIsGoneKeepsTheLedger) {
  Enter({"hns-network", "flannel.4096", "", false, hns::ShapeOf(ours_)});
  EXPECT_EQ(Reset({"--dry-run"}).out, "network flannel.4096 is gone already\n");
  EXPECT_EQ(Entries().size(), 1u);
}

TEST_F(ResetTest, AnEndpointOfAnotherNameAtItsAddressIsForeign) {
  const std::string id = Make(ours_);
  std::string pod;
  {
    hns::Endpoint endpoint;
    endpoint.name = "pod";
    endpoint.network = *hns::Guid::Parse(id);
    endpoint.ip_configurations = {{*IpAddress::Parse("10.244.1.7"), 24}};
    const auto made = client_.CreateEndpoint(endpoint);
    ASSERT_TRUE(made.ok()) << made.status();
    pod = made->id.ToString();
  }
  Enter({"hns-endpoint", "ours", "", false, "10.244.1.7", control::BootId()});
  Enter({"hns-endpoint", "External", "", false, "10.244.1.8", control::BootId()});
  EXPECT_EQ(Reset({"--keep-vswitch"}).out,
            "endpoint ours is gone already\nendpoint External is gone already\n");
  Enter({"hns-endpoint", "pod", "", false, "10.244.1.7", control::BootId()});
  EXPECT_EQ(Reset().out, "deleted endpoint pod (" + pod + ")\n");
}

TEST_F(ResetTest, ALedgerThatCannotBeReadIsRefused) {
  std::ofstream(folder_ + "/ledger.json") << "garbage";
  const Outcome outcome = Reset();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("ledger.json.broken-"));
}

// ---- --all

class ResetAllTest : public ResetTest {
 protected:
  void SetUp() override {
    ResetTest::SetUp();
    Write("subnet.env", "FLANNEL_SUBNET=10.244.1.1/24\n");
    Write("cni/flannel.4096/10.244.1.2", "kube-proxy\r\nsource-vip");
    Write("cni/flannel.4096/lock", "");
    Write("state/journal.json", "{}");
  }
  void Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  bool Exists(const std::string& name) const {
    return std::filesystem::exists(std::filesystem::path(folder_) / name);
  }
  void EnterRow(const LedgerRow& row) const {
    ledger::Ledger ledger(folder_ + "/state");
    ASSERT_TRUE(ledger.Load().ok());
    ASSERT_TRUE(ledger.Confirm(ledger::EntryFrom(row)).ok());
  }
  void EnterNetwork(const std::string& id, bool adopted = false) const {
    EnterRow({"hns-network", "flannel.4096", id, adopted, hns::ShapeOf(ours_)});
  }
  Outcome ResetAll(std::vector<std::string> words = {}, const std::string& admin = "none") const {
    words.insert(words.begin(),
                 {"reset", "--all", "--hns=emulator:" + server_->path(), "--admin=" + admin,
                  "--state-dir=" + folder_ + "/state", "--subnet-file=" + folder_ + "/subnet.env",
                  "--source-vip-store=" + folder_ + "/cni"});
    return Call(words);
  }
};

TEST_F(ResetAllTest, FilesGoFirstAndTheLedgerLast) {
  const std::string id = Make(ours_);
  EnterNetwork(id);
  Write("cni/results", "x");
  const Outcome dry = ResetAll({"--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(Networks(), ElementsAre("flannel.4096"));
  EXPECT_TRUE(Exists("subnet.env"));
  EXPECT_TRUE(Exists("state/ledger.json"));

  const Outcome done = ResetAll();
  EXPECT_EQ(done.code, 0) << done.err;
  const auto line = [this](const std::string& name) {
    return "deleted " + folder_ + "/" + name + "\n";
  };
  const std::string expected = line("cni/flannel.4096/10.244.1.2") + line("cni/flannel.4096/lock") +
                               line("cni/flannel.4096") + line("subnet.env") +
                               "deleted network flannel.4096 (" + id + ")\n" +
                               line("state/journal.json") + line("state/ledger.json") +
                               line("state/lock") + line("state");
  EXPECT_EQ(done.out, expected);
  EXPECT_EQ(std::regex_replace(dry.out, std::regex("would delete"), "deleted"), expected);
  EXPECT_THAT(Networks(), IsEmpty());
  EXPECT_TRUE(Exists("cni/results"));
  EXPECT_FALSE(Exists("state"));

  const Outcome again = ResetAll();
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, "nothing to do\n");
}

// Else another pod would get the address of one that runs.
TEST_F(ResetAllTest, AnEndpointThatIsLeftRefusesIt) {
  const std::string id = Make(ours_);
  EnterNetwork(id, /*adopted=*/true);
  MakeEndpoint(id, "", "10.244.1.2", /*in_a_namespace=*/false);
  MakeEndpoint(id, "pod-a", "10.244.1.7", /*in_a_namespace=*/true);
  MakeEndpoint(id, "far", "10.244.2.7", /*in_a_namespace=*/false, hns::kRemoteEndpoint);
  const Outcome refused = ResetAll();
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, AllOf(HasSubstr("2 endpoints would be left: flannel.4096/"),
                                 HasSubstr("flannel.4096/pod-a"),
                                 HasSubstr("; remove their pods first, or give --force\n")));
  EXPECT_TRUE(Exists("subnet.env"));

  const Outcome dry = ResetAll({"--dry-run"});
  EXPECT_EQ(dry.code, 1);
  EXPECT_THAT(dry.err, HasSubstr("it would be refused: 2 endpoints"));

  const Outcome forced = ResetAll({"--force"});
  EXPECT_EQ(forced.code, 0) << forced.err;
  EXPECT_FALSE(Exists("cni/flannel.4096"));
  EXPECT_THAT(forced.out, HasSubstr("left network flannel.4096: it existed before weft\n"));
}

TEST_F(ResetAllTest, AnEndpointInANetworkOfNoLedgerRefusesIt) {
  MakeEndpoint(Make(ours_), "a", "10.244.1.7", /*in_a_namespace=*/false);
  const auto refused = HasSubstr("1 endpoint would be left: flannel.4096/a; remove their pods");
  EXPECT_THAT(ResetAll().err, refused);
  const hns::Network base = hns::BaseNetwork(Spec("flannel.4096", "10.244.1.0/24"));
  EnterRow({"hns-network", "External", Make(base), false, hns::ShapeOf(base)});
  EXPECT_THAT(ResetAll().err, refused);
}

TEST_F(ResetAllTest, WhatHnsDoesNotTellRefusesItUnlessForced) {
  Make(ours_);
  for (const char* const function : {"HcnEnumerateNetworks", "HcnEnumerateEndpoints"}) {
    hns::emulator::Fault fault;
    fault.function = function;
    fault.count = hns::emulator::Fault::kAlways;
    fault.code = hns::hresult::kUnspecified;
    node_.hns().Add(fault);
    EXPECT_EQ(ResetAll().code, 2) << function;
    node_.hns().ClearFaults();
  }
  EXPECT_TRUE(Exists("subnet.env"));
  node_.hns().Stop();
  EXPECT_EQ(ResetAll({"--force"}).code, 0);
}

#ifndef _WIN32
TEST_F(ResetAllTest, WithoutAnHnsTheAddressesOfContainersRefuseIt) {
  const auto reset = [this] {
    return Call({"reset", "--all", "--admin=none", "--state-dir=" + folder_ + "/state",
                 "--subnet-file=" + folder_ + "/subnet.env",
                 "--source-vip-store=" + folder_ + "/cni"});
  };
  Write("cni/cbr0/10.244.1.1", "4711\r\neth0");
  EXPECT_THAT(reset().err,
              HasSubstr("1 address of containers would be lost: 10.244.1.1 (\"4711\"); remove"));
  for (const char* const last : {"2", "3", "4", "5", "6"})
    Write(std::string("cni/cbr0/10.244.1.") + last, "4711\r\neth0");
  EXPECT_THAT(reset().err, AllOf(HasSubstr(" reset: 6 addresses of"),
                                 HasSubstr("10.244.1.5 (\"4711\"), ...; remove")));
  EnterNetwork(Make(ours_));
  EXPECT_EQ(reset().code, 2);
}
#endif

TEST_F(ResetAllTest, TheLedgersNetworksAloneHaveFoldersOfHostLocal) {
  const hns::Network base = hns::BaseNetwork(Spec("flannel.4096", "10.244.1.0/24"));
  const std::string id = Make(ours_);
  EnterNetwork(id);
  EnterRow({"hns-network", "External", Make(base), false, hns::ShapeOf(base)});
  EnterRow({"hns-endpoint", "mine", "", false, "10.244.1.7", "an earlier boot"});
  MakeEndpoint(id, "source-vip", "10.244.1.200", /*in_a_namespace=*/false);
  for (const char* const name : {"cni/External/10.244.1.9", "cni/mine/10.244.1.9"})
    Write(name, "kube-proxy\r\nsource-vip");
  const Outcome outcome = ResetAll();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(Exists("cni/External/10.244.1.9"));
  EXPECT_TRUE(Exists("cni/mine/10.244.1.9"));
}

TEST_F(ResetAllTest, FilesOrAStateFolderAloneAreSomethingToDo) {
  std::filesystem::remove_all(folder_ + "/state");
  EXPECT_THAT(ResetAll().out, ::testing::EndsWith("/subnet.env\n"));
  Write("state/journal.json", "{}");
  EXPECT_THAT(ResetAll().out, ::testing::StartsWith("deleted "));
}

TEST_F(ResetAllTest, ARecordOfCniInstallThatCannotBeReadRefusesIt) {
  Write("state/cni.json", "{}");
  const Outcome outcome = ResetAll();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("cni.json"));
  EXPECT_TRUE(Exists("subnet.env"));
}

TEST_F(ResetAllTest, PodsRefuseItBeforeAFileIsDeleted) {
  const std::string id = Make(ours_);
  EnterNetwork(id);
  MakeEndpoint(id, "pod-a", "10.244.1.7", /*in_a_namespace=*/true);
  const Outcome refused = ResetAll();
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("1 pod runs in what would be deleted (pod-a)"));
  EXPECT_TRUE(Exists("subnet.env"));
  EXPECT_TRUE(Exists("cni/flannel.4096/10.244.1.2"));
}

TEST_F(ResetAllTest, AnyFlanneldRefusesIt) {
  admin::FakeState state;
  state.status.dataplane = "none";
  state.status.hns.reset();
  admin::RunningServer server{admin::AdminHandler(state)};
  const Outcome refused = ResetAll({}, server.endpoint());
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("flanneld runs"));
  EXPECT_TRUE(Exists("subnet.env"));
}

TEST_F(ResetAllTest, TheNetworksNameMayBeGiven) {
  Write("cni/mine/10.244.1.9", "4711");
  EXPECT_EQ(ResetAll({"--network=mine"}).code, 0);
  EXPECT_FALSE(Exists("cni/mine"));
  EXPECT_TRUE(Exists("cni/flannel.4096"));
}

}  // namespace
}  // namespace weft::cli
