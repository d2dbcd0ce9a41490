// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>

#include "bench/tools/node_stream.h"
#include "bench/tools/watch_frames.h"
#include "boost/asio/io_context.hpp"
#include "control/kube/client/api_client.h"
#include "control/kube/client/cluster_access.h"

namespace weft::bench {
namespace {

// The first request of control/kube/list_watch.
kube::HttpRequest StreamingList() {
  kube::HttpRequest request;
  request.target =
      "/api/v1/nodes?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
      "&allowWatchBookmarks=true&timeoutSeconds=300";
  request.accept = "application/vnd.kubernetes.protobuf;stream=watch";
  return request;
}

class Reader final : public kube::ExchangeHandler {
 public:
  Reader(boost::asio::io_context& io, std::ofstream* capture, std::ofstream* pieces)
      : io_(io), capture_(capture), pieces_file_(pieces) {}

  void OnHead(const kube::HttpHead& head) override {
    if (head.status == 200 && head.content_type.find("protobuf") != std::string::npos) return;
    std::fprintf(stderr, "node_stream: the server returned %d, %s\n", head.status,
                 head.content_type.c_str());
    io_.stop();
  }
  void OnBody(std::string_view bytes) override {
    bytes_ += bytes.size();
    ++pieces_;
    if (capture_ != nullptr) {
      capture_->write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      *pieces_file_ << bytes.size() << '\n';
    }
    if (!frames_.Read(bytes)) return;
    complete_ = true;
    if (capture_ != nullptr) {  // before the line, whose reader may end this process
      capture_->flush();
      pieces_file_->flush();
    }
    std::printf("{\"bytes\": %zu, \"nodes\": %zu, \"pieces\": %zu}\n", bytes_, frames_.frames() - 1,
                pieces_);
    std::fflush(stdout);
    io_.stop();
  }
  void OnEnd(const absl::Status& status) override {
    std::fprintf(stderr, "node_stream: the stream ended before its mark: %s\n",
                 status.ToString().c_str());
    io_.stop();
  }
  bool complete() const { return complete_; }

 private:
  boost::asio::io_context& io_;
  std::ofstream* const capture_;
  std::ofstream* const pieces_file_;
  WatchFrames frames_;
  std::size_t bytes_ = 0;
  std::size_t pieces_ = 0;  // in which the client delivered the bytes
  bool complete_ = false;
};

}  // namespace

int Drain(const DrainOptions& options) {
  absl::StatusOr<kube::ClusterAccess> access = kube::ReadClusterAccess(
      options.kubeconfig, "", [](const std::string&) { return std::nullopt; });
  if (!access.ok()) {
    std::fprintf(stderr, "node_stream: %s\n", access.status().ToString().c_str());
    return 1;
  }
  std::ofstream capture, pieces;
  const bool captures = !options.capture.empty();
  if (captures) {
    capture.open(options.capture, std::ios::binary);
    pieces.open(options.capture + kPiecesSuffix);
  }
  boost::asio::io_context io(1);
  kube::ApiClient client(io, *std::move(access), "node_stream");
  Reader reader(io, captures ? &capture : nullptr, &pieces);
  const std::unique_ptr<kube::Exchange> exchange = client.Start(StreamingList(), reader);
  io.run();
  if (!capture.good() || !pieces.good()) {
    std::fprintf(stderr, "node_stream: cannot write %s%s\n", options.capture.c_str(),
                 kPiecesSuffix);
    return 1;
  }
  return reader.complete() ? 0 : 1;
}

}  // namespace weft::bench
