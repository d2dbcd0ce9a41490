// SPDX-License-Identifier: Apache-2.0
// The source contract, run against every source.
#include "tests/contract/source_contract.h"

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "control/sources/file_source.h"
#include "control/sources/kube_source.h"
#include "tests/support/fake_api_listener.h"
#include "tests/support/manual_clock.h"
#include "tests/support/node_json.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

// Broken: half of a file.
class FileRig final : public SourceRig {
 public:
  FileRig() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    Write();
    source_ = std::make_unique<control::FileSource>(path_, kube::NodeJsonCodec({}, "us"));
  }
  ~FileRig() override { fs::remove_all(folder_); }

  lease::Source& source() override { return *source_; }
  void End() override { source_.reset(); }
  void Put(const NodeFacts& node) override {
    nodes_.insert_or_assign(node.name, node);
    Write();
  }
  void Delete(const std::string& name) override {
    nodes_.erase(name);
    Write();
  }
  void Break() override {
    broken_ = true;
    Write();
  }
  void Mend() override {
    broken_ = false;
    Write();
  }
  void Step() override {
    if (source_) source_->Poll();
  }

 private:
  void Write() const {
    std::vector<NodeFacts> nodes;
    for (const auto& [name, node] : nodes_) nodes.push_back(node);
    std::string text = NodeListJson(nodes, "1");
    if (broken_) text.resize(text.size() / 2);
    std::ofstream(folder_ / "next", std::ios::binary) << text;
    fs::rename(folder_ / "next", path_);
  }

  // One for each case: ctest runs them side by side.
  static std::string CaseName() {
    std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    return name.substr(0, name.find('/'));
  }
  const fs::path folder_ = fs::temp_directory_path() / ("weft-source-contract-" + CaseName());
  const fs::path path_ = folder_ / "nodes.json";
  std::map<std::string, NodeFacts> nodes_;
  bool broken_ = false;
  std::unique_ptr<control::FileSource> source_;
};

// Broken: no server answers. The test advances the clock a little with each step. For the system's
// timers that time is long past: they fire at once and find that the clock is not there yet.
class KubeRig final : public SourceRig {
 public:
  explicit KubeRig(bool streams, FakeApiServer::Protobuf protobuf) {
    server_.streamed_list =
        streams ? FakeApiServer::StreamedList::kServed : FakeApiServer::StreamedList::kRefused;
    server_.protobuf = protobuf;
    clock_.AdvanceTo(control::TimePoint(-std::chrono::hours(1000)));
    kube::ClusterAccess access;
    access.tls = false;
    access.host = "127.0.0.1";
    access.port = listener_.port();
    access.origin = "a test";
    client_ = std::make_unique<kube::ApiClient>(io_, access, "flanneld/test");
    source_ = std::make_unique<control::KubeSource>(
        io_, clock_, [] { return 0.0; }, *client_, kube::AnnotationKeys(), "us");
  }

  lease::Source& source() override { return *source_; }
  void End() override { source_.reset(); }
  void Put(const NodeFacts& node) override { server_.Put(node); }
  void Delete(const std::string& name) override { server_.Delete(name); }
  void Break() override { listener_.GoAway(); }
  void Mend() override { listener_.Resume(); }
  void Step() override {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    do {
      io_.poll_one();
    } while (std::chrono::steady_clock::now() < end);
    clock_.Advance(std::chrono::milliseconds(50));
  }

 private:
  boost::asio::io_context io_;
  FakeApiServer server_;
  FakeApiListener listener_{io_, server_};
  ManualClock clock_;
  std::unique_ptr<kube::ApiClient> client_;
  std::unique_ptr<control::KubeSource> source_;
};

using Protobuf = FakeApiServer::Protobuf;
const SourceCase kSources[] = {
    {"file", [] { return std::make_unique<FileRig>(); }},
    {"kube", [] { return std::make_unique<KubeRig>(true, Protobuf::kServed); }},
    {"kube_json", [] { return std::make_unique<KubeRig>(true, Protobuf::kAbsent); }},
    {"kube_list_and_watch", [] { return std::make_unique<KubeRig>(false, Protobuf::kServed); }}};

INSTANTIATE_TEST_SUITE_P(Sources, SourceContract, ::testing::ValuesIn(kSources), SourceCaseName);

}  // namespace
}  // namespace weft::testing
