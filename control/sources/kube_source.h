// SPDX-License-Identifier: Apache-2.0
// Leases from the Kubernetes API: carries out what kube::ListWatch decides.
#pragma once

#include <memory>
#include <string>

#include "control/clock.h"
#include "control/kube/client/api_client.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/lease/source.h"
#include "control/retry.h"

namespace weft::control {

// One thread (control, the client's io_context).
class KubeSource final : public lease::Source {
 public:
  // `io`, `clock` and `client` outlive it. `own_node_name` empty: no Node is ours.
  KubeSource(boost::asio::io_context& io, const Clock& clock, Random random,
             kube::ApiClient& client, kube::AnnotationKeys keys, std::string own_node_name);
  ~KubeSource() override;

  void Start(lease::SourceListener& listener) override;
  std::string Describe() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::control
