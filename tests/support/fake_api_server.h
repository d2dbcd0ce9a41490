// SPDX-License-Identifier: Apache-2.0
// An API server without I/O: a store of Nodes under versions, and the bytes that it answers to
// lists and watches, in either encoding. It misbehaves on command.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/kube/client/http_exchange.h"
#include "control/kube/codec/answer_reader.h"
#include "tests/support/node_facts.h"

namespace weft::testing {

class FakeApiServer;

// One answer. A watch gets more events over time.
class FakeAnswer {
 public:
  kube::HttpHead head;

  // The bytes since the last call, cut where events end.
  std::vector<std::string> Take();
  // Nothing more will be sent.
  bool ended() const { return ended_; }
  // As timeoutSeconds does: what was not taken is not sent any more.
  void End() { ended_ = true; }

 private:
  friend class FakeApiServer;
  FakeAnswer(const FakeApiServer& server, kube::Encoding encoding)
      : server_(&server), encoding_(encoding) {}
  void Follow();

  const FakeApiServer* server_;
  kube::Encoding encoding_;
  std::vector<std::string> ready_;
  bool ended_ = false;
  // For a watch: sent up to this revision, and the end mark is due at that one.
  bool follows_ = false;
  int position_ = 0;
  std::optional<int> mark_at_;
  int bookmarks_ = 0;
};

class FakeApiServer {
 public:
  using Nodes = std::map<std::string, NodeFacts>;

  // ---- the truth

  // Creates or replaces.
  void Put(NodeFacts node);
  void Delete(const std::string& name);
  const Nodes& nodes() const { return nodes_; }
  // Every change is one.
  int revision() const { return revision_; }
  Nodes NodesAt(int revision) const;
  // A client with an older version than this gets 410 at its next request.
  void Compact() { compacted_ = revision_; }
  // From a backup: it is that revision again. Its next changes reuse revision numbers.
  void Restore(int revision);
  // Versions are opaque: these are unordered and need escaping.
  static std::string Version(int revision);
  static std::optional<int> RevisionOf(const std::string& version);

  // ---- how it behaves

  enum class StreamedList {
    kServed,
    kRefused,         // the feature is off: 422
    kRefusedByEvent,  // etcd is too old: 200, and an ERROR event of code 500
    kIgnored,         // from before the feature: a plain watch
  };
  enum class Protobuf {
    kServed,
    kAbsent,   // JSON, where that is accepted too
    kRefused,  // 406 to a request that names it
    kFeigned,  // JSON under its content type
  };
  StreamedList streamed_list = StreamedList::kServed;
  Protobuf protobuf = Protobuf::kServed;
  // The cache, which serves everything but lists without a version, is this many changes behind.
  int lag = 0;
  // The answer to a version beyond the cache: it waits, or "Too large resource version".
  bool waits = true;
  std::size_t most_in_page = 500;
  // Frames with a wrong length, lists with an byte too few or too many, from now on.
  bool wrong_lengths = false;

  // The answers to the next requests of any kind.
  struct Refusal {
    StatusFacts status;
    bool event = false;       // inside an answer of 200
    bool plain_text = false;  // as proxies and gates answer
    std::optional<int> retry_after;
    std::string only{};  // where DrainRequests's text begins so
  };
  std::deque<Refusal> refusals;

  // A bookmark into every watch that has no end mark to wait for.
  void SendBookmarks() { ++bookmarks_; }

  std::unique_ptr<FakeAnswer> Serve(const kube::HttpRequest& request);
  // The requests since the last call, in short: "stream@7", "list", "page@7", "page+", "watch@7";
  // numbers are revisions, "?" is a version of no revision, " json" marks a request that accepts
  // JSON only.
  std::vector<std::string> DrainRequests() { return std::exchange(requests_, {}); }

 private:
  friend class FakeAnswer;
  struct Change {
    std::string type;  // "ADDED", "MODIFIED", "DELETED"
    NodeFacts node;
  };
  // A request's query, decoded.
  using Query = std::map<std::string, std::string>;

  std::optional<kube::Encoding> Choose(const std::string& accept) const;
  std::unique_ptr<FakeAnswer> Refuse(const Refusal& refusal, kube::Encoding encoding, bool watch);
  std::unique_ptr<FakeAnswer> ServeList(const Query& query, kube::Encoding encoding);
  std::unique_ptr<FakeAnswer> ServeWatch(const Query& query, kube::Encoding encoding);
  int cache() const { return std::max(0, revision_ - lag); }

  Nodes nodes_;
  int revision_ = 0;
  int compacted_ = 0;
  int bookmarks_ = 0;
  std::vector<std::string> requests_;
  std::vector<Change> history_;  // the first makes revision 1
};

}  // namespace weft::testing
