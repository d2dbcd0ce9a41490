// SPDX-License-Identifier: Apache-2.0
#include "control/sources/kube_source.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

namespace weft::control {

KubeSource::KubeSource(boost::asio::io_context& io, const Clock& clock, Random random,
                       kube::ApiClient& client, kube::AnnotationKeys keys,
                       std::string own_node_name)
    : timer_(io),
      clock_(clock),
      random_(std::move(random)),
      client_(client),
      keys_(std::move(keys)),
      own_node_name_(std::move(own_node_name)) {}

void KubeSource::Start(lease::SourceListener& listener) {
  watch_ = std::make_unique<kube::ListWatch>(clock_, random_, std::move(keys_),
                                             std::move(own_node_name_), listener);
  Do(watch_->Start());
}

void KubeSource::Do(kube::Action action) {
  auto* const send = std::get_if<kube::Send>(&action);
  const auto* const wait = std::get_if<kube::Wait>(&action);
  const std::string fault = send ? send->fault : wait ? wait->fault : "";
  if (exchange_ && !fault.empty()) exchange_->Fail(fault);
  if (send) {
    exchange_.reset();  // first: two connections would need two buffers
    exchange_ = client_.Start(std::move(send->request), *this);
    deadline_ = send->deadline;
  } else if (wait) {
    exchange_.reset();
    deadline_ = wait->until;
  } else {
    deadline_ = std::get<kube::Read>(action).deadline;
  }
  // The deadline moves with every piece of a body; the timer is reset only if it would be late.
  if (!armed_ || deadline_ < timer_.expiry()) Arm();
}

void KubeSource::Arm() {
  armed_ = true;
  timer_.expires_at(deadline_);
  timer_.async_wait([this, still = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (error || still.expired()) return;  // set again, or this is gone
    armed_ = false;
    if (clock_.Now() < deadline_) return Arm();
    Do(watch_->OnTime());
  });
}

std::string KubeSource::Describe() const {
  return absl::StrCat("Kubernetes API ", client_.Describe());
}

}  // namespace weft::control
