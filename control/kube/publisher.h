// SPDX-License-Identifier: Apache-2.0
// Our own lease in our Node's annotations: a state machine without I/O that says which patch to
// send. Written once and complete, put back when others change it, never blanked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "control/clock.h"
#include "control/kube/annotation_keys.h"
#include "control/kube/api_status.h"
#include "control/kube/http_exchange.h"
#include "control/lease/own_node.h"
#include "control/retry.h"
#include "vxlan/mac_address.h"
#include "vxlan/vni.h"

namespace weft::kube {

struct PublishedFamily {
  IpAddress public_ip;  // the detected one; public-ip-overwrite in the Node goes over it
  // Under vxlan; other backends publish "null".
  std::optional<MacAddress> vtep_mac;
  friend bool operator==(const PublishedFamily&, const PublishedFamily&) = default;
};

// What peers are to read of us.
struct Publication {
  std::string backend_type;  // lower case
  Vni vni = kFlannelWindowsVni;
  std::optional<PublishedFamily> v4, v6;
  friend bool operator==(const Publication&, const Publication&) = default;
};

// One thread (control).
class Publisher {
 public:
  struct Options {
    AnnotationKeys keys;
    std::string node_name;
    bool set_condition = true;  // --set-node-network-unavailable
    control::RetryPolicy retry;
  };
  // `clock` outlives it. `now` is the wall clock, for the condition.
  Publisher(const control::Clock& clock, std::function<absl::Time()> now, control::Random random,
            Options options);
  ~Publisher();

  // Any of these may make a patch necessary: ask Next afterwards.
  void SetWanted(std::optional<Publication> wanted);  // empty: not known (yet), leave what is there
  void OnOwnNode(const std::optional<lease::OwnNode>& node);
  void SetReady(bool ready);  // the node's network works: the condition may say so

  // The patch to send now. None: nothing to do before NextDeadline, or an answer is awaited.
  std::optional<HttpRequest> Next();
  // What became of it: the error of the connection, or the server's answer (a code of 2xx is
  // success).
  void OnAnswer(const absl::StatusOr<ApiStatus>& answer);
  std::optional<control::TimePoint> NextDeadline() const;

  // Our Node says what it should, as far as we were told.
  bool published() const;
  // One sentence for people: why it does not; empty when it does or nothing is wanted.
  std::string trouble() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::kube
