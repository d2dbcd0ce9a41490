// SPDX-License-Identifier: Apache-2.0
// A machine, a server and a clock, for the tests of list_watch.
#pragma once

#include <string>
#include <vector>

#include "control/kube/list_watch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/answers.h"
#include "tests/support/fake_api_server.h"
#include "tests/support/list_watch_carrier.h"
#include "tests/support/manual_clock.h"
#include "tests/support/written_source.h"

namespace weft::kube {

class ListWatchTest : public ::testing::Test {
 protected:
  using Lines = std::vector<std::string>;
  using Refusal = testing::FakeApiServer::Refusal;

  // A node with a lease for 10.244.N.0/24; `uid` distinguishes re-created nodes.
  static testing::NodeFacts Node(const std::string& name, int n, const std::string& uid = "1") {
    const std::string number = std::to_string(n);
    return testing::NodeFacts(name).Uid(uid).Created(1000 + n).Leased("10.244." + number + ".0/24",
                                                                      "192.0.2." + number);
  }
  static testing::NodeFacts Bare(const std::string& name) {
    return testing::NodeFacts(name).Uid("1");
  }
  static Refusal Http(int code, std::string reason = "", std::string message = "") {
    Refusal refusal;
    refusal.status.code = code;
    refusal.status.reason = std::move(reason);
    refusal.status.message = std::move(message);
    return refusal;
  }
  static Refusal Event(int code, std::string reason = "", std::string message = "") {
    Refusal refusal = Http(code, std::move(reason), std::move(message));
    refusal.event = true;
    return refusal;
  }
  static Refusal TooLarge(bool event) {
    Refusal refusal = Http(504, "Timeout", "Too large resource version: 7, current: 3");
    refusal.status.cause_reason = "ResourceVersionTooLarge";
    refusal.status.retry_after = 1;
    refusal.event = event;
    return refusal;
  }

  // Nodes a and b, in sync, a while ago.
  void Synced() {
    server.Put(Node("a", 1));
    server.Put(Node("b", 2));
    carrier.Start();
    carrier.RunFor(std::chrono::seconds(20));
    server.DrainRequests();
    source.Take();
  }
  Lines Reported() { return source.Take(); }
  Lines Requests() { return server.DrainRequests(); }

  testing::ManualClock clock;
  testing::FakeApiServer server;
  testing::WrittenSource source;
  double roll = 0;  // what the machine throws
  ListWatch machine{clock, [this] { return roll; }, AnnotationKeys(), "us", source};
  testing::ListWatchCarrier carrier{clock, server, machine};
};

}  // namespace weft::kube
