// SPDX-License-Identifier: Apache-2.0
#include <boost/asio/ip/tcp.hpp>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "control/admin/socket_stream.h"

namespace weft::admin {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

absl::Status Refused(const std::string& address, std::uint16_t port, std::string_view step,
                     const boost::system::error_code& error) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", step, " on TCP ", address, " port ", port, ": ", error.message(),
                   "; choose another address or port, or stop the program that holds it"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<Listener>> OpenTcpListener(asio::io_context& io,
                                                          const std::string& address,
                                                          std::uint16_t port) {
  boost::system::error_code error;
  const auto ip = asio::ip::make_address(address, error);
  if (error)
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\" is not an IP address to listen on"));
  const Tcp::endpoint desired(ip, port);
  SocketListener::Acceptor acceptor(io);
  acceptor.open(desired.protocol(), error);
  if (error) return Refused(address, port, "open a socket", error);
  acceptor.set_option(asio::socket_base::reuse_address(ReuseAddressIsSafe()), error);
  if (!error) acceptor.bind(desired, error);
  if (error) return Refused(address, port, "bind", error);
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return Refused(address, port, "listen", error);

  const asio::generic::stream_protocol::endpoint bound = acceptor.local_endpoint(error);
  if (error) return Refused(address, port, "read back the port", error);
  Tcp::endpoint endpoint;
  endpoint.resize(bound.size());
  std::memcpy(endpoint.data(), bound.data(), bound.size());
  return std::make_shared<SocketListener>(std::move(acceptor), endpoint.port());
}

}  // namespace weft::admin
