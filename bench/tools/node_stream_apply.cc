// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "bench/tools/node_stream.h"
#include "control/kube/list_watch.h"
#include "control/reconciler.h"

namespace weft::bench {
namespace {

// Accepts everything, does nothing.
class Sink final : public lease::Sink {
 public:
  std::string name() const override { return "measured"; }
  lease::SinkReport Resync(std::span<const lease::Peer> all) override {
    peers = all.size();
    return Report();
  }
  lease::SinkReport Update(const lease::PeerChanges& changes) override {
    ++updates;
    upserts += changes.upserts.size();
    return Report();
  }
  lease::SinkReport Retry() override { return Report(); }

  std::size_t peers = 0;  // of the last resync
  std::size_t updates = 0, upserts = 0;

 private:
  lease::SinkReport Report() const { return {peers, peers, {}}; }
};

// flanneld's objects between the carrier and its sinks, without sinks at first, as with
// --dataplane=none.
class Pipeline {
 public:
  explicit Pipeline(const ApplyOptions& options)
      : identity_(KnownAtOnce(options)),
        reconciler_(clock_, Middle, Hooks(), {.own = identity_}),
        list_watch_(clock_, Middle, {}, options.own, reconciler_) {
    list_watch_.Start();
    list_watch_.OnHead({200, "application/vnd.kubernetes.protobuf;stream=watch", {}});
  }

  // False: the stream was refused.
  bool Read(std::string_view bytes) {
    return std::holds_alternative<kube::Read>(list_watch_.OnBody(bytes));
  }
  // Passes all leases at once to the sink, as to a data plane.
  void AddSink() { reconciler_.AddSink(sink_); }
  control::ReconcilerReport report() const { return reconciler_.report(); }
  const Sink& sink() const { return sink_; }

 private:
  static double Middle() { return 0.5; }
  static lease::OwnIdentity KnownAtOnce(const ApplyOptions& options) {
    lease::OwnIdentity own;
    own.node_name = options.own;
    own.v4.network = IpPrefix::Parse(options.network);
    return own;
  }
  control::ReconcilerHooks Hooks() {
    control::ReconcilerHooks hooks;
    hooks.on_own_node = [this](const std::optional<lease::OwnNode>& node) {
      if (!node) return;
      identity_.v4.subnet = node->v4.subnet;
      reconciler_.SetOwn(identity_);
    };
    return hooks;
  }

  control::SystemClock clock_;
  lease::OwnIdentity identity_;
  Sink sink_;
  control::Reconciler reconciler_;
  kube::ListWatch list_watch_;
};

double CpuMilliseconds(std::clock_t ticks) {
  return static_cast<double>(ticks) * 1e3 / static_cast<double>(CLOCKS_PER_SEC);
}

// CPU time in ms to apply the file, without reading it. Negative: refused. The clock is a system
// call, so it is read once a block.
double ApplyFile(std::ifstream& file, std::ifstream& sizes, Pipeline& pipeline) {
  constexpr std::size_t kBlock = std::size_t{256} << 10;
  std::string block;
  std::vector<std::size_t> pieces;
  std::clock_t spent = 0;
  std::size_t size = 0;
  while (sizes) {
    block.clear();
    pieces.clear();
    while (block.size() < kBlock && sizes >> size) {
      const std::size_t before = block.size();
      block.resize(before + size);
      if (!file.read(block.data() + before, static_cast<std::streamsize>(size))) return -1;
      pieces.push_back(size);
    }
    std::string_view rest = block;
    const std::clock_t began = std::clock();
    for (const std::size_t piece : pieces) {
      if (!pipeline.Read(rest.substr(0, piece))) return -1;
      rest.remove_prefix(piece);
    }
    spent += std::clock() - began;
  }
  return CpuMilliseconds(spent);
}

// `desired` of the file's frames, spread over the whole file, each with its MAC changed.
std::vector<std::string> ChangedNodes(std::ifstream& file, std::size_t nodes, std::size_t desired) {
  std::vector<std::string> frames;
  const std::size_t step = std::max<std::size_t>(1, nodes / std::max<std::size_t>(1, desired));
  file.clear();
  file.seekg(0);
  std::string head(4, '\0');
  for (std::size_t i = 0; frames.size() < desired && file.read(head.data(), 4); ++i) {
    std::uint32_t size = 0;
    for (const char byte : head) size = size << 8 | static_cast<std::uint8_t>(byte);
    if (i % step != 0) {
      file.seekg(size, std::ios::cur);
      continue;
    }
    std::string frame = head + std::string(size, '\0');
    if (!file.read(frame.data() + 4, size)) break;
    constexpr std::string_view kBefore = "\"VtepMAC\":\"02:00:";
    const std::size_t found = frame.find(kBefore);
    if (found == std::string::npos) continue;
    frame[found + kBefore.size() - 2] = '1';
    frames.push_back(std::move(frame));
  }
  return frames;
}

}  // namespace

int Apply(const ApplyOptions& options) {
  std::ifstream file(options.capture, std::ios::binary);
  std::ifstream sizes(options.capture + kPiecesSuffix);
  if (!file || !sizes) {
    std::fprintf(stderr, "node_stream: cannot read %s or %s\n", options.capture.c_str(),
                 kPiecesSuffix);
    return 1;
  }
  Pipeline pipeline(options);
  const double cpu_ms = ApplyFile(file, sizes, pipeline);
  const control::ReconcilerReport report = pipeline.report();
  const std::clock_t began_sink = std::clock();
  pipeline.AddSink();
  const double sink_cpu_ms = CpuMilliseconds(std::clock() - began_sink);
  if (cpu_ms < 0 || !report.in_sync) {
    std::fprintf(stderr, "node_stream: %s is not taken as a streaming list: %s\n",
                 options.capture.c_str(), report.condition.value_or("it has no end mark").c_str());
    return 1;
  }

  std::vector<double> microseconds;
  for (const std::string& frame : ChangedNodes(file, report.leases, options.events)) {
    const std::size_t before = pipeline.sink().upserts;
    const auto began = std::chrono::steady_clock::now();
    const bool read = pipeline.Read(frame);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - began;
    if (!read || pipeline.sink().upserts != before + 1) {
      std::fprintf(stderr, "node_stream: a changed lease did not reach the sink\n");
      return 1;
    }
    microseconds.push_back(took.count());
  }
  std::sort(microseconds.begin(), microseconds.end());
  const auto share = [&microseconds](double part) {
    if (microseconds.empty()) return 0.0;
    return microseconds[static_cast<std::size_t>(part * static_cast<double>(microseconds.size()))];
  };
  std::printf(
      "{\"leases\": %zu, \"peers\": %zu, \"refused\": %zu, \"cpu_ms\": %.3f, \"sink_cpu_ms\": "
      "%.3f, \"events\": %zu, "
      "\"event_us\": %.2f, \"event_p99_us\": %.2f}\n",
      report.leases, pipeline.sink().peers, report.refused, cpu_ms, sink_cpu_ms,
      microseconds.size(), share(0.5), share(0.99));
  return 0;
}

}  // namespace weft::bench
