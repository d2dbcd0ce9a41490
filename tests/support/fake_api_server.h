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

// One answer. As time goes on a watch has more to say.
class FakeAnswer {
 public:
  kube::HttpHead head;

  // What there is to read since the last call, cut where events end.
  std::vector<std::string> Take();
  // Nothing more will come.
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
  // Of a watch: told up to this revision, and the end mark is due at that one.
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
  // Whatever client holds an older version than this is told 410 when it comes back.
  void Compact() { compacted_ = revision_; }
  // From a backup: it is that revision again. Its next changes take numbers a second time.
  void Restore(int revision);
  // Versions are opaque: these are in no order and want escaping.
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
    kRefused,  // 406 to whoever names it
    kFeigned,  // JSON under its content type
  };
  StreamedList streamed_list = StreamedList::kServed;
  Protobuf protobuf = Protobuf::kServed;
  // The cache from which all but lists without a version are served is so many changes behind.
  int lag = 0;
  // What it does when asked for more than the cache has: waits, or "Too large resource version".
  bool waits = true;
  std::size_t most_in_page = 500;
  // Frames with a wrong length, lists with an byte too few or too many, from now on.
  bool wrong_lengths = false;

  // What the next requests are answered, whatever they are.
  struct Refusal {
    StatusFacts status;
    bool event = false;       // inside an answer of 200
    bool plain_text = false;  // as proxies and gates answer
    std::optional<int> retry_after;
    std::string only{};  // where TakeAsked's text begins so
  };
  std::deque<Refusal> refusals;

  // A bookmark into every watch that has no end mark to wait for.
  void SendBookmarks() { ++bookmarks_; }

  std::unique_ptr<FakeAnswer> Serve(const kube::HttpRequest& request);
  // What was asked since the last call, in short: "stream@7", "list", "page@7", "page+", "watch@7";
  // numbers are revisions, "?" a version of no revision, " json" ends what takes nothing else.
  std::vector<std::string> TakeAsked() { return std::exchange(asked_, {}); }

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
  std::vector<std::string> asked_;
  std::vector<Change> history_;  // the first makes revision 1
};

}  // namespace weft::testing
