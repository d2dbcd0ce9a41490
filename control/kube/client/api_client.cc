// SPDX-License-Identifier: Apache-2.0
#include "control/kube/client/api_client.h"

#include <boost/asio/io_context.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/kube/client/api_carrier.h"
#include "control/kube/client/url.h"

namespace weft::kube {
namespace {

class Carried final : public Exchange {
 public:
  explicit Carried(std::shared_ptr<Carrier> carrier) : carrier_(std::move(carrier)) {}
  ~Carried() override { carrier_->Abandon(); }

 private:
  std::shared_ptr<Carrier> carrier_;
};

}  // namespace

struct ApiClient::Impl {
  boost::asio::io_context& io;
  CarrierOptions options;
};

ApiClient::ApiClient(boost::asio::io_context& io, ClusterAccess access, std::string user_agent,
                     std::chrono::milliseconds dial_limit)
    : impl_(std::make_shared<Impl>(Impl{io, {}})) {
  impl_->options.server =
      absl::StrCat(access.tls ? "https://" : "http://", HostAndPort(access.host, access.port),
                   access.path, " (", access.origin, ")");
  impl_->options.access = std::make_shared<const ClusterAccess>(std::move(access));
  impl_->options.user_agent = std::move(user_agent);
  impl_->options.dial_limit = dial_limit;
  impl_->options.reached = std::make_shared<std::string>();
}

ApiClient::~ApiClient() = default;

std::unique_ptr<Exchange> ApiClient::Start(HttpRequest request, ExchangeHandler& handler,
                                           std::chrono::milliseconds limit) {
  CarrierOptions options = impl_->options;
  options.limit = limit;
  auto carrier =
      std::make_shared<Carrier>(impl_->io, std::move(options), std::move(request), handler);
  carrier->Start();
  return std::make_unique<Carried>(std::move(carrier));
}

std::string ApiClient::Describe() const { return impl_->options.server; }

std::vector<IpAddress> ApiClient::ServerAddresses() const {
  std::vector<IpAddress> addresses;
  for (const std::string& text : {impl_->options.access->host, *impl_->options.reached}) {
    const auto address = IpAddress::Parse(text.substr(0, text.find('%')));
    if (address && (addresses.empty() || addresses.front() != *address))
      addresses.push_back(*address);
  }
  return addresses;
}

}  // namespace weft::kube
