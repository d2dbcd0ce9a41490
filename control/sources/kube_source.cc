// SPDX-License-Identifier: Apache-2.0
#include "control/sources/kube_source.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "control/kube/list_watch.h"

namespace weft::control {

struct KubeSource::Impl final : public kube::ExchangeHandler {
  Impl(boost::asio::io_context& io, const Clock& the_clock, Random the_random,
       kube::ApiClient& the_client, kube::AnnotationKeys the_keys, std::string name)
      : timer(io),
        clock(the_clock),
        random(std::move(the_random)),
        client(the_client),
        keys(std::move(the_keys)),
        own_node_name(std::move(name)) {}

  void OnHead(const kube::HttpHead& head) override { Do(watch->OnHead(head)); }
  void OnBody(std::string_view octets) override { Do(watch->OnBody(octets)); }
  void OnEnd(const absl::Status& status) override { Do(watch->OnEnd(status)); }

  void Do(kube::Action action) {
    if (auto* send = std::get_if<kube::Send>(&action)) {
      exchange.reset();  // first: two connections at once would be two buffers
      exchange = client.Start(std::move(send->request), *this);
      deadline = send->deadline;
    } else if (const auto* wait = std::get_if<kube::Wait>(&action)) {
      exchange.reset();
      deadline = wait->until;
    } else {
      deadline = std::get<kube::Read>(action).deadline;
    }
    // A deadline moves with every piece of a body; the timer only when it would come too late.
    if (!armed || deadline < timer.expiry()) Arm();
  }

  void Arm() {
    armed = true;
    timer.expires_at(deadline);
    timer.async_wait([this, still = std::weak_ptr(alive)](const boost::system::error_code& error) {
      if (error || still.expired()) return;  // set anew, or this is gone
      armed = false;
      if (clock.Now() < deadline) return Arm();
      Do(watch->OnTime());
    });
  }

  boost::asio::steady_timer timer;
  const Clock& clock;
  Random random;
  kube::ApiClient& client;
  kube::AnnotationKeys keys;
  std::string own_node_name;
  std::unique_ptr<kube::ListWatch> watch;
  std::unique_ptr<kube::Exchange> exchange;
  TimePoint deadline;
  bool armed = false;
  const std::shared_ptr<bool> alive = std::make_shared<bool>();  // a handler queued outlives this
};

KubeSource::KubeSource(boost::asio::io_context& io, const Clock& clock, Random random,
                       kube::ApiClient& client, kube::AnnotationKeys keys,
                       std::string own_node_name)
    : impl_(std::make_unique<Impl>(io, clock, std::move(random), client, std::move(keys),
                                   std::move(own_node_name))) {}

KubeSource::~KubeSource() = default;

void KubeSource::Start(lease::SourceListener& listener) {
  Impl& my = *impl_;
  my.watch = std::make_unique<kube::ListWatch>(my.clock, my.random, std::move(my.keys),
                                               std::move(my.own_node_name), listener);
  my.Do(my.watch->Start());
}

std::string KubeSource::Describe() const {
  return absl::StrCat("Kubernetes API ", impl_->client.Describe());
}

}  // namespace weft::control
