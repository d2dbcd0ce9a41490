// SPDX-License-Identifier: Apache-2.0
// Leases from the Kubernetes API: carries out what kube::ListWatch decides.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "control/clock.h"
#include "control/kube/client/api_client.h"
#include "control/kube/codec/annotation_keys.h"
#include "control/kube/list_watch.h"
#include "control/lease/source.h"
#include "control/retry.h"

namespace weft::control {

// One thread (control, the client's io_context).
class KubeSource final : public lease::Source, private kube::ExchangeHandler {
 public:
  // `io`, `clock` and `client` outlive it. `own_node_name` empty: no Node is ours.
  KubeSource(boost::asio::io_context& io, const Clock& clock, Random random,
             kube::ApiClient& client, kube::AnnotationKeys keys, std::string own_node_name);

  void Start(lease::SourceListener& listener) override;
  std::string Describe() const override;
  kube::ListWatch::Counts counts() const {
    return watch_ ? watch_->counts() : kube::ListWatch::Counts();
  }

 private:
  void OnHead(const kube::HttpHead& head) override { Do(watch_->OnHead(head)); }
  void OnBody(std::string_view bytes) override { Do(watch_->OnBody(bytes)); }
  void OnEnd(const absl::Status& status) override { Do(watch_->OnEnd(status)); }
  void Do(kube::Action action);
  void Arm();

  boost::asio::steady_timer timer_;
  const Clock& clock_;
  const Random random_;
  kube::ApiClient& client_;
  kube::AnnotationKeys keys_;
  std::string own_node_name_;
  std::unique_ptr<kube::ListWatch> watch_;
  std::unique_ptr<kube::Exchange> exchange_;
  TimePoint deadline_;
  bool armed_ = false;
  const std::shared_ptr<bool> alive_ =
      std::make_shared<bool>();  // a queued handler may outlive this object
};

}  // namespace weft::control
