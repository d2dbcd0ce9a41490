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

  // Of HNS: whether it has the network, whether the network's endpoints were read, and the address
  // of kube-proxy's.
  struct InHns {
    bool exists = false, known = false;
    std::optional<IpAddress> used{};
  };
  // Reserves the address for `network` and `subnet`, and the same one again when another process
  // released it (host-local's GC); does something about once a second, and at once for another
  // network or subnet. Kube-proxy's is preferred where this process has reserved none yet, and
  // waited for; for half a minute of an existing network that HNS does not read.
  void Keep(const std::string& network, const IpPrefix& subnet, const InHns& hns,
            control::TimePoint now);
  // The last Keep has reserved nothing until HNS's endpoints are known.
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
  // Since when the network exists and its endpoints are not known.
  std::optional<control::TimePoint> existed_since_;
  control::TimePoint again_{};  // not before
  control::Condition condition_, file_condition_;
};

}  // namespace weft::cni
