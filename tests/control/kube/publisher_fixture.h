// SPDX-License-Identifier: Apache-2.0
// A publisher under a clock that the test turns, and Nodes in one line.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "control/kube/publisher.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/lease_makers.h"
#include "tests/support/manual_clock.h"

namespace weft::kube {

inline constexpr char kOurData[] = R"({"VNI":4096,"VtepMAC":"00:15:5d:8c:2f:93"})";
inline constexpr char kOurIp[] = "192.168.1.10";
// All four annotations at once.
inline constexpr char kWholePatch[] =
    R"({"metadata":{"annotations":{)"
    R"("flannel.alpha.coreos.com/backend-data":"{\"VNI\":4096,\"VtepMAC\":\"00:15:5d:8c:2f:93\"}",)"
    R"("flannel.alpha.coreos.com/backend-type":"vxlan",)"
    R"("flannel.alpha.coreos.com/kube-subnet-manager":"true",)"
    R"("flannel.alpha.coreos.com/public-ip":"192.168.1.10"}}})";

// What is to be published.
inline Publication OurPublication(const char* mac = "00:15:5d:8c:2f:93") {
  Publication publication;
  publication.backend_type = "vxlan";
  publication.v4 = {testing::Address(kOurIp), testing::Mac(mac)};
  return publication;
}

// The kubelet's Node, without annotations yet.
inline lease::OwnNode BareNode(std::string uid = "uid-1") {
  lease::OwnNode node;
  node.node = {"win1", std::move(uid)};
  node.v4.subnet = testing::Prefix("10.244.3.0/24");
  return node;
}

inline lease::OwnNode PublishedNode(std::string uid = "uid-1") {
  lease::OwnNode node = BareNode(std::move(uid));
  node.managed = true;
  node.backend_type = "vxlan";
  node.v4.backend_data = kOurData;
  node.v4.public_ip = kOurIp;
  return node;
}

// {"metadata":{"annotations":{"flannel.alpha.coreos.com/KEY":"TEXT"}}}
inline std::string PatchOf(const std::string& key, const std::string& text) {
  return R"({"metadata":{"annotations":{"flannel.alpha.coreos.com/)" + key + R"(":")" + text +
         R"("}}})";
}

inline ApiStatus Answer(int code) {
  ApiStatus answer;
  answer.code = code;
  return answer;
}

class PublisherTest : public ::testing::Test {
 protected:
  // No jitter: the waits are 1, 2, 4, ... 30 s.
  static Publisher::Options Options() {
    Publisher::Options options;
    options.node_name = "win1";
    options.retry = {std::chrono::seconds(1), std::chrono::seconds(30), 2, 0};
    return options;
  }
  Publisher Make(Publisher::Options options) {
    return {clock, [] { return absl::FromUnixSeconds(1786708800); }, [] { return 0.0; },
            std::move(options)};
  }

  // The body of the patch to send now; empty: none.
  std::string Body() {
    const auto request = publisher.Next();
    return request ? request->body : "";
  }
  void Accept() { publisher.OnAnswer(Answer(200)); }
  void Refuse(int code) { publisher.OnAnswer(Answer(code)); }
  // From here on our Node is annotated, and was found so.
  void StartPublished() {
    publisher.SetDesired(OurPublication());
    publisher.OnOwnNode(PublishedNode());
    EXPECT_TRUE(publisher.published());
    EXPECT_EQ(Body(), "");
  }
  // How long until Next has something; negative: nothing is planned.
  std::chrono::milliseconds Wait() const {
    const auto at = publisher.NextDeadline();
    if (!at) return std::chrono::milliseconds(-1);
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::max(*at, clock.Now()) -
                                                                 clock.Now());
  }

  testing::ManualClock clock;
  Publisher publisher = Make(Options());
};

}  // namespace weft::kube
