// SPDX-License-Identifier: Apache-2.0
// Keeps the source VIP reserved while flanneld runs, and writes sourceVip.json.
#pragma once

#include <optional>
#include <string>

#include "control/clock.h"
#include "control/cni/source_vip.h"
#include "control/condition.h"

namespace weft::cni {

// Control thread. What fails is a condition, and is tried again.
class SourceVipKeeper {
 public:
  // `file`: the path of sourceVip.json; empty: none.
  SourceVipKeeper(std::string store, std::string file)
      : store_(std::move(store)), file_(std::move(file)) {}

  struct InHns {
    bool exists = false, known = false;  // the network; its endpoints were read
    std::optional<IpAddress> used{};     // of kube-proxy's endpoint
  };
  // Reserves the address for `network` and `subnet`, and the same one again when another process
  // released it (host-local's GC); does something about once a second, and at once for another
  // network or subnet. Where this process has reserved none yet, the one in use is waited for while
  // the network does not exist and half a minute more, and preferred.
  void Keep(const std::string& network, const IpPrefix& subnet, const InHns& hns,
            control::TimePoint now);
  // The last Keep has reserved nothing until `known`.
  bool awaits_used() const { return awaits_used_; }

  // Empty: not reserved yet.
  const std::optional<IpAddress>& address() const { return address_; }
  const control::Condition& condition() const { return condition_; }
  const control::Condition& file_condition() const { return file_condition_; }

 private:
  void WriteFile(const IpPrefix& subnet, control::TimePoint now);

  const std::string store_, file_;
  std::optional<SourceVipSpec> spec_;
  std::optional<IpAddress> address_;
  std::optional<IpAddress> used_;  // by kube-proxy, as far as is known
  bool awaits_used_ = false;
  std::optional<control::TimePoint> exists_since_;
  control::TimePoint again_{};  // not before
  control::Condition condition_, file_condition_;
};

}  // namespace weft::cni
