// SPDX-License-Identifier: Apache-2.0
#include "control/kube/node_leave.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace weft::kube {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kPrefix = "flannel.alpha.coreos.com/";
constexpr char kGetNode[] = "GET /api/v1/nodes/win1";
constexpr char kGetPods[] = "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dwin1&limit=50";
constexpr char kPatch[] = "PATCH /api/v1/nodes/win1/status";

std::string AnnotatedNode(const std::vector<std::string>& keys) {
  return absl::StrCat(R"({"metadata":{"name":"win1","annotations":{"foreign":"x")",
                      absl::StrJoin(keys, "",
                                    [](std::string* out, const std::string& key) {
                                      absl::StrAppend(out, ",\"", kPrefix, key, "\":\"v\"");
                                    }),
                      "}}}");
}

const std::string kJoined =
    AnnotatedNode({"backend-data", "backend-type", "backend-v6-data", "kube-subnet-manager",
                   "node-public-ip", "node-public-ipv6", "public-ip", "public-ip-overwrite",
                   "public-ipv6", "public-ipv6-overwrite"});
const std::string kGone = AnnotatedNode({"public-ip-overwrite"});
constexpr char kNoPods[] = R"({"items":[]})";

class Leave {
 public:
  explicit Leave(bool force = false, bool dry_run = false)
      : leave_({{}, "win1", force, dry_run, {}}, [] { return 0.5; }) {}

  // Checks the next request and answers it; returns the wait before it.
  milliseconds Answer(const std::string& request, int status, std::string body) {
    const auto step = leave_.Next();
    EXPECT_TRUE(step) << request;
    if (!step) return {};
    EXPECT_EQ(step->request.method + " " + step->request.target, request);
    sent_ = step->request.body;
    ApiAnswer answer;
    answer.status = status;
    answer.content_type = "application/json";
    answer.body = std::move(body);
    leave_.OnAnswer(answer);
    return std::chrono::duration_cast<milliseconds>(step->wait);
  }
  void Fail(const std::string& request, const absl::Status& error) {
    const auto step = leave_.Next();
    ASSERT_TRUE(step);
    EXPECT_EQ(step->request.method + " " + step->request.target, request);
    leave_.OnAnswer(error);
  }
  bool ended() { return !leave_.Next(); }
  NodeLeave::Left left() {
    EXPECT_TRUE(ended());
    EXPECT_TRUE(leave_.result().ok()) << leave_.result().status();
    return leave_.result().value_or(NodeLeave::Left());
  }
  std::string error() const { return std::string(leave_.result().status().message()); }
  absl::StatusCode code() const { return leave_.result().status().code(); }
  const std::string& sent() const { return sent_; }

 private:
  NodeLeave leave_;
  std::string sent_;
};

std::string Pod(const std::string& name, const std::string& more = "") {
  return absl::StrCat(R"({"metadata":{"namespace":"shop","name":")", name, "\"}", more, "}");
}
std::string Pods(const std::vector<std::string>& pods, const std::string& next = "") {
  return absl::StrCat(R"({"metadata":{"continue":")", next, R"("},"items":[)",
                      absl::StrJoin(pods, ","), "]}");
}
std::string ErrorStatus(std::string_view message) {
  return absl::StrCat(R"({"kind":"Status","message":")", message, "\"}");
}

TEST(NodeLeave, RemovesWhatFlanneldWritesAndLeavesTheAdministrators) {
  Leave leave;
  leave.Answer(kGetNode, 200, kJoined);
  leave.Answer(kGetPods, 200, kNoPods);
  leave.Answer(kPatch, 200, kGone);
  EXPECT_EQ(leave.sent(), R"({"metadata":{"annotations":{)"
                          R"("flannel.alpha.coreos.com/backend-data":null,)"
                          R"("flannel.alpha.coreos.com/backend-type":null,)"
                          R"("flannel.alpha.coreos.com/backend-v6-data":null,)"
                          R"("flannel.alpha.coreos.com/kube-subnet-manager":null,)"
                          R"("flannel.alpha.coreos.com/public-ip":null,)"
                          R"("flannel.alpha.coreos.com/public-ipv6":null}}})");
  EXPECT_EQ(leave.Answer(kGetNode, 200, kGone), NodeLeave::kWrittenBackWithin);
  EXPECT_THAT(
      leave.left().removed,
      ElementsAre(kPrefix + "backend-data", kPrefix + "backend-v6-data", kPrefix + "backend-type",
                  kPrefix + "kube-subnet-manager", kPrefix + "public-ip", kPrefix + "public-ipv6"));
}

TEST(NodeLeave, ASecondRunHasNothingToDo) {
  Leave leave;
  leave.Answer(kGetNode, 200, kGone);
  EXPECT_TRUE(leave.left().node_exists);
  EXPECT_THAT(leave.left().removed, IsEmpty());
}

TEST(NodeLeave, ANodeThatIsGoneHasLeft) {
  Leave at_once;
  at_once.Answer(kGetNode, 404, ErrorStatus("nodes \\\"win1\\\" not found"));
  EXPECT_FALSE(at_once.left().node_exists);

  Leave meanwhile;
  meanwhile.Answer(kGetNode, 200, kJoined);
  meanwhile.Answer(kGetPods, 200, kNoPods);
  meanwhile.Answer(kPatch, 404, ErrorStatus("not found"));
  EXPECT_FALSE(meanwhile.left().node_exists);
}

TEST(NodeLeave, IsRefusedWhilePodsRunOnEveryPage) {
  Leave leave;
  leave.Answer(kGetNode, 200, kJoined);
  leave.Answer(kGetPods, 200, Pods({Pod("web-1")}, "a/b"));
  leave.Answer(absl::StrCat(kGetPods, "&continue=a%2Fb"), 200, Pods({Pod("web-2")}));
  EXPECT_TRUE(leave.ended());
  EXPECT_EQ(leave.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(leave.error(),
            "node \"win1\": 2 pods would lose the other nodes: shop/web-1, shop/web-2; run "
            "`kubectl drain win1 --ignore-daemonsets` first, or add --force");
}

TEST(NodeLeave, PodsThatADrainLeavesDoNotCount) {
  Leave leave;
  leave.Answer(kGetNode, 200, kJoined);
  leave.Answer(kGetPods, 200,
               Pods({Pod("host", R"(,"spec":{"hostNetwork":true})"),
                     Pod("done", R"(,"status":{"phase":"Succeeded"})"),
                     R"({"metadata":{"name":"proxy","ownerReferences":
                        [{"kind":"DaemonSet","controller":true}]}})",
                     R"({"metadata":{"name":"static",
                        "annotations":{"kubernetes.io/config.mirror":"x"}}})"}));
  leave.Answer(kPatch, 200, kGone);
  leave.Answer(kGetNode, 200, kGone);
  EXPECT_EQ(leave.left().removed.size(), 6u);
}

TEST(NodeLeave, OfManyPodsTenAreNamed) {
  std::vector<std::string> pods;
  for (int i = 0; i < 12; ++i) pods.push_back(Pod(absl::StrCat("p", i)));
  Leave leave;
  leave.Answer(kGetNode, 200, kJoined);
  leave.Answer(kGetPods, 200, Pods(pods));
  EXPECT_THAT(leave.error(),
              AllOf(HasSubstr("12 pods"), HasSubstr("shop/p9 and 2 more"), Not(HasSubstr("p10"))));
}

TEST(NodeLeave, WithForceNoPodIsRead) {
  Leave leave(/*force=*/true);
  leave.Answer(kGetNode, 200, kJoined);
  leave.Answer(kPatch, 200, kGone);
  leave.Answer(kGetNode, 200, kGone);
  EXPECT_EQ(leave.left().removed.size(), 6u);
}

TEST(NodeLeave, ADryRunPatchesNothing) {
  Leave leave(/*force=*/false, /*dry_run=*/true);
  leave.Answer(kGetNode, 200, kJoined);
  leave.Answer(kGetPods, 200, kNoPods);
  EXPECT_EQ(leave.left().removed.size(), 6u);
  Leave forced(/*force=*/true, /*dry_run=*/true);
  forced.Answer(kGetNode, 200, kJoined);
  EXPECT_EQ(forced.left().removed.size(), 6u);
}

TEST(NodeLeave, AConflictReadsTheNodeAgain) {
  Leave leave;
  leave.Answer(kGetNode, 200, kJoined);
  leave.Answer(kGetPods, 200, kNoPods);
  leave.Answer(kPatch, 409, ErrorStatus("the object has been modified"));
  EXPECT_EQ(leave.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(leave.error(),
            "node \"win1\": the API server answers 409: the object has been modified");
  EXPECT_GT(leave.Answer(kGetNode, 200, AnnotatedNode({"public-ip"})), milliseconds(0));
  leave.Answer(kGetPods, 200, kNoPods);
  leave.Answer(kPatch, 200, kGone);
  EXPECT_EQ(leave.sent(),
            R"({"metadata":{"annotations":{"flannel.alpha.coreos.com/public-ip":null}}})");
}

TEST(NodeLeave, AFailingServerIsTriedAgainLaterEachTime) {
  Leave leave;
  leave.Fail(kGetNode, absl::UnavailableError("https://10.0.0.1:6443: connection refused"));
  EXPECT_EQ(leave.error(), "node \"win1\": https://10.0.0.1:6443: connection refused");
  const milliseconds first = leave.Answer(kGetNode, 503, "");
  const milliseconds second = leave.Answer(kGetNode, 429, ErrorStatus("busy"));
  EXPECT_GT(first, milliseconds(0));
  EXPECT_GT(second, first);
  leave.Answer(kGetNode, 200, kJoined);
  leave.Answer(kGetPods, 500, "");
  leave.Answer(kGetPods, 410, ErrorStatus("the continue token is too old"));
  leave.Answer(kGetNode, 200, kJoined);
  leave.Answer(kGetPods, 200, kNoPods);
}

TEST(NodeLeave, TheServersRetryAfterIsObeyedIfItIsLonger) {
  const auto wait_after = [](int seconds) {
    const std::string details = absl::StrCat(R"({"retryAfterSeconds":)", seconds, "}");
    Leave leave;
    leave.Answer(kGetNode, 429, absl::StrCat(R"({"kind":"Status","details":)", details, "}"));
    return leave.Answer(kGetNode, 200, kGone);
  };
  EXPECT_EQ(wait_after(30), std::chrono::seconds(30));
  EXPECT_EQ(wait_after(1), milliseconds(1200));
}

TEST(NodeLeave, AnnotationsThatComeBackNameTheCause) {
  Leave leave;
  leave.Answer(kGetNode, 200, kJoined);
  leave.Answer(kGetPods, 200, kNoPods);
  leave.Answer(kPatch, 200, kGone);
  leave.Answer(kGetNode, 200, AnnotatedNode({"public-ip"}));
  EXPECT_TRUE(leave.ended());
  EXPECT_EQ(leave.error(),
            "node \"win1\": flannel.alpha.coreos.com/public-ip was written again at once: a "
            "flanneld of this node runs; stop it (its service, pod or process), then run this "
            "again");
}

TEST(NodeLeave, RefusalsAreFinalAndNameTheNextStep) {
  const struct {
    int answered;  // requests before it
    int status;
    std::string body, error;
  } rows[] = {
      {0, 401, "", "check the credentials that --kubeconfig-file names"},
      {0, 403, "", "this account needs \"get\" of \"nodes\""},
      {1, 403, "", "let this account `list` pods, or drain the node yourself and add --force"},
      {2, 403, "", "this account needs \"patch\" of \"nodes/status\""},
      {2, 422, ErrorStatus("denied by a webhook"), "answers 422: denied by a webhook"},
      {0, 200, "<html>", "the object is not JSON"},
      {1, 200, "{}", "whether pods still run cannot be read: the list of Pods has no items"},
      {1, 404, "", "\"win1\": the API server answers 404"},
      {0, 410, "", "the API server answers 410"},
  };
  const std::pair<std::string, std::string> usual[] = {{kGetNode, kJoined}, {kGetPods, kNoPods}};
  for (const auto& row : rows) {
    Leave leave;
    for (int i = 0; i < row.answered; ++i) leave.Answer(usual[i].first, 200, usual[i].second);
    leave.Answer(row.answered == 0   ? kGetNode
                 : row.answered == 1 ? kGetPods
                                     : kPatch,
                 row.status, row.body);
    EXPECT_TRUE(leave.ended()) << row.error;
    EXPECT_THAT(leave.error(), AllOf(HasSubstr("node \"win1\": "), HasSubstr(row.error)));
  }
}

TEST(NodeLeave, AServerThatRepeatsAPageIsNotReadForever) {
  Leave leave;
  leave.Answer(kGetNode, 200, kJoined);
  leave.Answer(kGetPods, 200, Pods({}, "t"));
  leave.Answer(absl::StrCat(kGetPods, "&continue=t"), 200, Pods({}, "t"));
  EXPECT_THAT(leave.error(), HasSubstr("the same page of Pods again"));
  EXPECT_TRUE(leave.ended());
}

TEST(NodeLeave, AnAnswerThatIsTooLongEndsIt) {
  Leave leave;
  leave.Fail(kGetNode, absl::ResourceExhaustedError("the answer is longer than 100 MiB"));
  EXPECT_TRUE(leave.ended());
}

TEST(NodeLeave, ThePrefixIsTheClusters) {
  NodeLeave leave({*AnnotationKeys::Of("example.org/net"), "win1", true, false, {}},
                  [] { return 0.5; });
  ASSERT_TRUE(leave.Next());
  ApiAnswer answer;
  answer.status = 200;
  answer.body = R"({"metadata":{"annotations":{"example.org/net-public-ip":"x",
                    "flannel.alpha.coreos.com/public-ip":"y"}}})";
  leave.OnAnswer(answer);
  EXPECT_EQ(leave.Next()->request.body,
            R"({"metadata":{"annotations":{"example.org/net-public-ip":null}}})");
}

}  // namespace
}  // namespace weft::kube
