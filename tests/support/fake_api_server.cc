// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_api_server.h"

#include <algorithm>

#include "tests/support/answers.h"

namespace weft::testing {
namespace {

using kube::Encoding;

std::string Decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      decoded += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::map<std::string, std::string> QueryOf(std::string_view target) {
  std::map<std::string, std::string> query;
  const std::size_t begin = target.find('?');
  std::string_view rest = begin == target.npos ? "" : target.substr(begin + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    query[std::string(pair.substr(0, equals))] = Decoded(pair.substr(equals + 1));
  }
  return query;
}

std::string Member(const std::map<std::string, std::string>& query, const std::string& key) {
  const auto at = query.find(key);
  return at == query.end() ? "" : at->second;
}

// For TakeAsked.
std::string InShort(const std::map<std::string, std::string>& query, const std::string& accept) {
  const bool watch = Member(query, "watch") == "1";
  std::string text = watch ? "watch" : "list";
  if (Member(query, "sendInitialEvents") == "true") text = "stream";
  if (query.contains("limit")) text = "page";
  if (query.contains("continue")) text += "+";
  if (const std::string version = Member(query, "resourceVersion"); !version.empty()) {
    const std::optional<int> revision = FakeApiServer::RevisionOf(version);
    text += "@" + (revision ? std::to_string(*revision) : "?");
  }
  return accept.find("protobuf") == accept.npos ? text + " json" : text;
}

StatusFacts MakeStatus(int code, std::string reason, std::string message) {
  StatusFacts status;
  status.code = code;
  status.reason = std::move(reason);
  status.message = std::move(message);
  return status;
}

// As the API server words it.
StatusFacts TooLarge() {
  StatusFacts status = MakeStatus(504, "Timeout", "Too large resource version");
  status.retry_after = 1;
  status.cause_reason = "ResourceVersionTooLarge";
  status.cause_message = "Too large resource version";
  return status;
}

// A frame whose length is one byte too large; JSON with a brace too many.
std::string Misframed(std::string event, Encoding encoding) {
  if (encoding == Encoding::kJson) return event + "}";
  ++event.at(3);
  return event;
}

}  // namespace

// ---- FakeAnswer

std::vector<std::string> FakeAnswer::Take() {
  if (follows_ && !ended_) Follow();
  return std::exchange(ready_, {});
}

void FakeAnswer::Follow() {
  const Answers answers(encoding_);
  const auto mark = [&] {
    if (!mark_at_ || position_ < *mark_at_) return;
    ready_.push_back(answers.Bookmark(FakeApiServer::Version(position_), true));
    mark_at_.reset();
    bookmarks_ = server_->bookmarks_;
  };
  mark();
  while (position_ < server_->cache()) {
    const FakeApiServer::Change& change = server_->history_[static_cast<std::size_t>(position_)];
    std::string event = answers.Event(change.type, change.node);
    ready_.push_back(server_->wrong_lengths ? Misframed(std::move(event), encoding_) : event);
    ++position_;
    mark();
  }
  // A version from before a restore is unknown.
  if (bookmarks_ < server_->bookmarks_ && !mark_at_ && position_ <= server_->revision_) {
    bookmarks_ = server_->bookmarks_;
    ready_.push_back(answers.Bookmark(FakeApiServer::Version(position_)));
  }
}

// ---- the truth

void FakeApiServer::Put(NodeFacts node) {
  const auto [at, is_new] = nodes_.try_emplace(node.name, node);
  at->second = std::move(node);
  at->second.version = Version(++revision_);
  history_.push_back({is_new ? "ADDED" : "MODIFIED", at->second});
}

void FakeApiServer::Delete(const std::string& name) {
  const auto at = nodes_.find(name);
  if (at == nodes_.end()) return;
  NodeFacts node = std::move(at->second);
  nodes_.erase(at);
  node.version = Version(++revision_);
  history_.push_back({"DELETED", std::move(node)});
}

FakeApiServer::Nodes FakeApiServer::NodesAt(int revision) const {
  Nodes nodes;
  for (int i = 0; i < revision; ++i) {
    const Change& change = history_.at(static_cast<std::size_t>(i));
    if (change.type == "DELETED") {
      nodes.erase(change.node.name);
    } else {
      nodes.insert_or_assign(change.node.name, change.node);
    }
  }
  return nodes;
}

void FakeApiServer::Restore(int revision) {
  nodes_ = NodesAt(revision);
  revision_ = revision;
  compacted_ = std::min(compacted_, revision);
  history_.erase(history_.begin() + revision, history_.end());
}

std::string FakeApiServer::Version(int revision) {
  return std::to_string(revision * 7919LL % 1'000'003) + "/+&=" + std::to_string(revision % 10);
}

std::optional<int> FakeApiServer::RevisionOf(const std::string& version) {
  static const std::map<std::string, int> kAll = [] {
    std::map<std::string, int> all;
    for (int i = 0; i < 100'000; ++i) all.emplace(Version(i), i);
    return all;
  }();
  const auto at = kAll.find(version);
  return at == kAll.end() ? std::nullopt : std::optional(at->second);
}

// ---- answers

std::optional<Encoding> FakeApiServer::Choose(const std::string& accept) const {
  const bool takes_protobuf = accept.find("protobuf") != accept.npos;
  const bool takes_json = accept.find("json") != accept.npos;
  if (takes_protobuf && protobuf == Protobuf::kRefused) return std::nullopt;
  if (takes_protobuf && protobuf != Protobuf::kAbsent) return Encoding::kProtobuf;
  return takes_json ? std::optional(Encoding::kJson) : std::nullopt;
}

std::unique_ptr<FakeAnswer> FakeApiServer::Serve(const kube::HttpRequest& request) {
  const Query query = QueryOf(request.target);
  requests_.push_back(InShort(query, request.accept));
  const bool watch = Member(query, "watch") == "1";
  std::optional<Encoding> encoding = Choose(request.accept);
  if (!refusals.empty() && requests_.back().starts_with(refusals.front().only)) {
    const Refusal refusal = refusals.front();
    refusals.pop_front();
    return Refuse(refusal, encoding.value_or(Encoding::kJson), watch);
  }
  if (!encoding) {
    const StatusFacts status =
        MakeStatus(406, "NotAcceptable", "only the following media types are accepted: ...");
    return Refuse({status, false, false, std::nullopt, ""}, Encoding::kJson, watch);
  }
  const bool feigned = *encoding == Encoding::kProtobuf && protobuf == Protobuf::kFeigned;
  if (feigned) encoding = Encoding::kJson;
  auto answer = watch ? ServeWatch(query, *encoding) : ServeList(query, *encoding);
  if (feigned) answer->head.content_type = "application/vnd.kubernetes.protobuf";
  return answer;
}

std::unique_ptr<FakeAnswer> FakeApiServer::Refuse(const Refusal& refusal, Encoding encoding,
                                                  bool watch) {
  std::unique_ptr<FakeAnswer> answer(new FakeAnswer(*this, encoding));
  const Answers answers(encoding);
  answer->ended_ = true;
  answer->head.status = refusal.event && watch ? 200 : refusal.status.code;
  answer->head.content_type = answers.content_type();
  if (refusal.retry_after) answer->head.retry_after = std::chrono::seconds(*refusal.retry_after);
  if (refusal.event && watch) {
    answer->head.content_type = answers.watch_content_type();
    answer->ready_ = {answers.ErrorEvent(refusal.status)};
  } else if (refusal.plain_text) {
    answer->head.content_type = "text/plain; charset=utf-8";
    answer->ready_ = {refusal.status.message};
  } else {
    answer->ready_ = {answers.Status(refusal.status)};
  }
  return answer;
}

std::unique_ptr<FakeAnswer> FakeApiServer::ServeList(const Query& query, Encoding encoding) {
  int at = revision_;  // without a version: as fresh as etcd
  std::string after;   // this name the page begins
  if (const std::string token = Member(query, "continue"); !token.empty()) {
    const std::size_t colon = token.find(':');
    at = std::stoi(token.substr(0, colon));
    after = token.substr(colon + 1);
    if (at < compacted_) {
      const StatusFacts gone =
          MakeStatus(410, "Expired", "The provided continue parameter is too old");
      return Refuse({gone, false, false, std::nullopt, ""}, encoding, false);
    }
  } else if (const std::string version = Member(query, "resourceVersion"); !version.empty()) {
    const std::optional<int> desired = RevisionOf(version);
    if (!desired) {
      const StatusFacts bad = MakeStatus(400, "BadRequest", "Invalid value for resourceVersion");
      return Refuse({bad, false, false, std::nullopt, ""}, encoding, false);
    }
    if (*desired > revision_ || (*desired > cache() && !waits))
      return Refuse({TooLarge(), false, false, std::nullopt, ""}, encoding, false);
    at = std::max(*desired, cache());
  }
  const std::string limit = Member(query, "limit");
  const std::size_t most =
      limit.empty() ? SIZE_MAX : std::min<std::size_t>(std::stoul(limit), most_in_page);
  std::vector<NodeFacts> nodes;
  std::string token;
  const Nodes all = NodesAt(at);
  for (auto node = all.upper_bound(after); node != all.end(); ++node) {
    if (nodes.size() == most) {
      token = std::to_string(at) + ":" + nodes.back().name;
      break;
    }
    nodes.push_back(node->second);
  }
  std::unique_ptr<FakeAnswer> answer(new FakeAnswer(*this, encoding));
  const Answers answers(encoding);
  answer->head.status = 200;
  answer->head.content_type = answers.content_type();
  std::string body = answers.List(nodes, Version(at), token);
  if (wrong_lengths) body.pop_back();
  // JSON ends in a newline.
  if (wrong_lengths && encoding == Encoding::kJson) body.pop_back();
  answer->ready_ = {std::move(body)};
  answer->ended_ = true;
  return answer;
}

std::unique_ptr<FakeAnswer> FakeApiServer::ServeWatch(const Query& query, Encoding encoding) {
  const bool streamed = Member(query, "sendInitialEvents") == "true";
  const auto refuse = [&](const StatusFacts& status, bool event) {
    return Refuse({status, event, false, std::nullopt, ""}, encoding, true);
  };
  if (streamed && streamed_list == StreamedList::kRefused) {
    return refuse(MakeStatus(422, "Invalid",
                             "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: "
                             "Forbidden: sendInitialEvents is forbidden for watch unless the "
                             "WatchList feature gate is enabled"),
                  false);
  }
  if (streamed && streamed_list == StreamedList::kRefusedByEvent)
    return refuse(MakeStatus(500, "InternalError",
                             "a watch stream was requested by the client but "
                             "the required storage feature is disabled"),
                  true);
  const bool snapshot = streamed && streamed_list == StreamedList::kServed;
  const std::string version = Member(query, "resourceVersion");
  const std::optional<int> desired = RevisionOf(version);
  if (!version.empty() && !desired)
    return refuse(MakeStatus(400, "BadRequest", "Invalid value for resourceVersion"), false);
  if (!snapshot && desired && *desired < compacted_)
    return refuse(MakeStatus(410, "Expired", "too old resource version"), true);
  if (snapshot && desired && (*desired > revision_ || (*desired > cache() && !waits)))
    return refuse(TooLarge(), true);

  std::unique_ptr<FakeAnswer> answer(new FakeAnswer(*this, encoding));
  const Answers answers(encoding);
  answer->head.status = 200;
  answer->head.content_type = answers.watch_content_type();
  answer->follows_ = true;
  answer->bookmarks_ = bookmarks_;
  answer->position_ = desired.value_or(cache());
  if (snapshot) answer->position_ = std::max(answer->position_, cache());
  if (snapshot || !desired) {
    for (const auto& [name, node] : NodesAt(answer->position_))
      answer->ready_.push_back(answers.Event("ADDED", node));
  }
  // Without a version: as fresh as etcd, once the cache has caught up.
  if (snapshot) answer->mark_at_ = desired ? answer->position_ : revision_;
  return answer;
}

}  // namespace weft::testing
