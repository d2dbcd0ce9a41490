// SPDX-License-Identifier: Apache-2.0
#include "control/daemon/cluster_member.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "control/kube/codec/objects_json.h"
#include "control/log.h"

namespace weft::daemon {
namespace {

// From dialling to the last byte of an answer that is not a stream.
constexpr auto kCallLimit = std::chrono::seconds(40);

kube::ApiStatus StatusOf(const kube::ApiAnswer& answer) {
  kube::ApiStatus status;
  status.code = answer.status;
  if (answer.status >= 300)
    status = kube::DecodeApiStatus(answer.status, answer.content_type, answer.body);
  if (answer.retry_after) status.retry_after = answer.retry_after;
  status.credentials = answer.credentials;
  return status;
}

// Why the answer to the request for our pod is unusable.
std::string Refusal(const kube::ApiStatus& status) {
  const std::string text = absl::StrCat("the API server answers ", status.code, ": ",
                                        status.message.empty() ? status.reason : status.message);
  switch (status.code) {
    case 401:
      return absl::StrCat(text, "; it does not accept ", status.credentials);
    case 403:
      return absl::StrCat(text, "; let this account `get` pods, or set NODE_NAME");
    default:
      return text;
  }
}

absl::StatusOr<std::string> NodeNameOf(const absl::StatusOr<kube::ApiAnswer>& pod) {
  if (!pod.ok()) return pod.status();
  const kube::ApiStatus status = StatusOf(*pod);
  if (status.code >= 300) return absl::UnavailableError(Refusal(status));
  return kube::DecodePodNodeName(pod->body);
}

}  // namespace

ClusterMember::ClusterMember(EventLoop& loop, const control::Clock& clock,
                             const config::Options& options, kube::ClusterServers servers,
                             kube::AnnotationKeys keys,
                             std::function<void(const std::string&)> on_name,
                             std::function<void()> on_change)
    : loop_(loop),
      clock_(clock),
      options_(options),
      keys_(std::move(keys)),
      on_name_(std::move(on_name)),
      on_change_(std::move(on_change)),
      client_(loop.io(), std::move(servers), absl::StrCat("flanneld/", WEFT_VERSION, " (weft)")),
      timer_(loop),
      name_backoff_({}, control::SystemRandom()) {
  client_.OnSwitch([this](const std::string& sentence) {
    if (switch_limit_.Allows(client_.Describe(), clock_.Now())) control::LogWarning(sentence);
    on_change_();
  });
}

ClusterMember::~ClusterMember() = default;

void ClusterMember::Start(lease::SourceListener& listener) {
  listener_ = &listener;
  if (!options_.node_name.empty()) return OnName(options_.node_name);
  control::LogInfo(absl::StrCat("requesting the node of pod ", options_.pod_namespace, "/",
                                options_.pod_name, " from the API server"));
  RequestName();
}

void ClusterMember::RequestName() {
  kube::HttpRequest request;
  request.target =
      absl::StrCat("/api/v1/namespaces/", options_.pod_namespace, "/pods/", options_.pod_name);
  call_ = std::make_unique<kube::ApiCall>(
      client_, std::move(request), kCallLimit,
      [this](const absl::StatusOr<kube::ApiAnswer>& answer) { OnPod(answer); });
}

void ClusterMember::OnPod(const absl::StatusOr<kube::ApiAnswer>& answer) {
  const absl::StatusOr<std::string> name = NodeNameOf(answer);
  if (name.ok()) return OnName(*name);
  ++name_errors_;
  name_condition_.Set(absl::StrCat(
      "the node of pod ", options_.pod_namespace, "/", options_.pod_name, " is not known: ",
      name.status().message(), "; flanneld tries again; the variable NODE_NAME would avoid this"));
  on_change_();
  timer_.Set(clock_.Now() + name_backoff_.Next(), [this] { RequestName(); });
}

void ClusterMember::OnName(const std::string& name) {
  call_.reset();
  name_condition_.Set("");
  control::LogInfo(absl::StrCat("this node is ", name));
  kube::Publisher::Options options;
  options.keys = keys_;
  options.node_name = name;
  options.set_condition = options_.set_node_network_unavailable;
  publisher_ = std::make_unique<kube::Publisher>(
      clock_, [] { return absl::Now(); }, control::SystemRandom(), std::move(options));
  on_name_(name);
  source_ = std::make_unique<control::KubeSource>(loop_.io(), clock_, control::SystemRandom(),
                                                  client_, keys_, name);
  source_->Start(*listener_);
}

void ClusterMember::Update(const std::optional<lease::OwnNode>& node,
                           std::optional<kube::Publication> desired) {
  if (!publisher_) return;
  publisher_->OnOwnNode(node);
  publisher_->SetDesired(std::move(desired));
  Publish();
}

void ClusterMember::SetReady(bool ready) {
  if (!publisher_) return;
  publisher_->SetReady(ready);
  Publish();
}

kube::Silence ClusterMember::silence() const {
  return source_ ? kube::JudgeSilence(source_->counts(), clock_.Now()) : kube::Silence();
}

void ClusterMember::Poll(bool source_fails) {
  silence_condition_.Set(source_fails ? "" : silence().condition);
}

void ClusterMember::Publish() {
  publish_condition_.Set(publisher_->condition());
  if (call_) return;
  if (std::optional<kube::HttpRequest> request = publisher_->Next()) {
    control::LogVerbose(1, absl::StrCat(request->method, " ", request->target, " ", request->body));
    call_ = std::make_unique<kube::ApiCall>(
        client_, *std::move(request), kube::Publisher::kAnswerLimit,
        [this](const absl::StatusOr<kube::ApiAnswer>& answer) { OnPatched(answer); });
    return;
  }
  if (const std::optional<control::TimePoint> at = publisher_->NextDeadline()) {
    timer_.Set(*at, [this] { Publish(); });
  } else {
    timer_.Cancel();
  }
}

void ClusterMember::OnPatched(const absl::StatusOr<kube::ApiAnswer>& answer) {
  const auto ended = std::move(call_);  // not destroyed during its own callback's arguments
  if (!answer.ok() || answer->status >= 300) ++publish_errors_;
  publisher_->OnAnswer(answer.ok() ? absl::StatusOr<kube::ApiStatus>(StatusOf(*answer))
                                   : answer.status());
  Publish();
  on_change_();
}

std::optional<control::TimePoint> ClusterMember::synced_at() const {
  return source_ ? source_->counts().synced_at : std::nullopt;
}

void ClusterMember::AddMetrics(metrics::Exposition& exposition) const {
  using metrics::Metric;
  const kube::ListWatch::Counts counts = source_ ? source_->counts() : kube::ListWatch::Counts();
  exposition.Add(Metric::kApiWatchRestarts, {}, counts.watch_restarts);
  exposition.Add(Metric::kApiLists, {}, counts.lists);
  exposition.Add(Metric::kApiErrors, {"nodes"}, counts.errors);
  exposition.Add(Metric::kApiErrors, {"publish"}, publish_errors_);
  exposition.Add(Metric::kApiErrors, {"pod"}, name_errors_);
}

std::string ClusterMember::Describe() const {
  return absl::StrCat("Kubernetes API ", client_.Describe());
}

}  // namespace weft::daemon
