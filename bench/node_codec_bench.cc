// SPDX-License-Identifier: Apache-2.0
// A streaming list of realistic Nodes (about 9 KB each in protobuf), from bytes to decoded Nodes:
// time for each Node, and bytes a second. Every Node has its own memory, so that caches help no
// more than behind a socket.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "bench/allocation_counter.h"
#include "control/kube/codec/answer_reader.h"
#include "tests/support/answers.h"

namespace weft::kube {
namespace {

constexpr int kNodes = 2000;              // about 20 MB: more than a cache
constexpr std::size_t kPiece = 64 << 10;  // the size in which the carrier delivers them

class Counter : public AnswerListener {
 public:
  int leases = 0;

 private:
  void OnNode(NodeChange /*change*/, const DecodedNode& node,
              std::string_view /*resource_version*/) override {
    leases += node.kind == DecodedNode::Kind::kLease ? 1 : 0;
  }
  void OnBookmark(std::string_view /*version*/, bool /*end*/) override {}
  void OnErrorEvent(const ApiStatus& /*status*/) override {}
  void OnListEnd(std::string_view /*version*/, std::string_view /*token*/) override {}
};

testing::NodeFacts NodeOf(int i) {
  const std::string x = std::to_string(i / 256), y = std::to_string(i % 256);
  return testing::NodeFacts("node-" + std::to_string(100'000 + i) + ".example.internal")
      .Uid("0123abcd-0123-4567-89ab-" + std::to_string(100'000'000'000 + i))
      .Version(std::to_string(123'456 + i))
      .Created(1'786'708'800 + i)
      .Leased("10." + x + "." + y + ".0/24", "172.16." + x + "." + y)
      .Large();
}

void Decode(benchmark::State& state, Encoding encoding, AnswerKind kind) {
  const testing::Answers answers(encoding);
  std::vector<testing::NodeFacts> nodes;
  for (int i = 0; i < kNodes; ++i) nodes.push_back(NodeOf(i));
  std::string bytes;
  if (kind == AnswerKind::kList) {
    bytes = answers.List(nodes, "1");
  } else {
    for (const auto& node : nodes) bytes += answers.Event("ADDED", node);
  }
  const AnnotationKeys keys;
  Counter counter;
  const auto pass = [&] {
    const auto reader = MakeAnswerReader(encoding, kind, keys, "us", counter);
    for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
      if (!reader->Read(std::string_view(bytes).substr(at, kPiece)).ok()) return false;
    }
    return reader->Finish().ok();
  };
  const std::uint64_t before = bench::allocations.load();
  if (!pass() || counter.leases != kNodes) state.SkipWithError("not decoded");
  // Allocations are for the reader and its buffers, not for each Node.
  if (bench::allocations.load() - before > 100)
    state.SkipWithError("decoding allocates for each Node");

  for (auto _ : state) {
    if (!pass()) state.SkipWithError("not decoded");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
  state.counters["node"] = benchmark::Counter(
      kNodes, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bytes"] = static_cast<double>(bytes.size()) / kNodes;
}

BENCHMARK_CAPTURE(Decode, protobuf_list, Encoding::kProtobuf, AnswerKind::kList);
BENCHMARK_CAPTURE(Decode, protobuf_watch, Encoding::kProtobuf, AnswerKind::kWatch);
BENCHMARK_CAPTURE(Decode, json_list, Encoding::kJson, AnswerKind::kList);
BENCHMARK_CAPTURE(Decode, json_watch, Encoding::kJson, AnswerKind::kWatch);

}  // namespace
}  // namespace weft::kube
