// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/remote_client.h"

#include <chrono>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"

namespace weft::hns::emulator {
namespace {

// Empty: the connection has ended.
std::optional<Reply> Exchange(Stream& stream, const Request& request) {
  if (!WriteDocument(stream, Encode(request))) return std::nullopt;
  const absl::StatusOr<std::string> document = ReadDocument(stream);
  if (!document.ok()) return std::nullopt;
  absl::StatusOr<std::variant<Reply, Notice>> answer = ParseAnswer(*document);
  if (!answer.ok() || !std::holds_alternative<Reply>(*answer)) return std::nullopt;
  return std::get<Reply>(*std::move(answer));
}

std::string NewIdentity() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8));
}

}  // namespace

RemoteClient::RemoteClient(std::string path) : path_(std::move(path)), identity_(NewIdentity()) {}

RemoteClient::Connection RemoteClient::Dial() const {
  absl::StatusOr<Connection> stream = admin::ConnectLocal(path_, std::chrono::milliseconds(0));
  if (!stream.ok()) return nullptr;
  if (!Exchange(**stream, {RequestKind::kHello, {.text = identity_}})) return nullptr;
  return *std::move(stream);
}

RemoteClient::Connection RemoteClient::TakeConnection() {
  {
    const std::scoped_lock lock(mutex_);
    while (!idle_.empty()) {
      Connection connection = std::move(idle_.back());
      idle_.pop_back();
      if (!connection->HasInput()) return connection;
    }
  }
  return Dial();
}

Reply RemoteClient::Send(const Request& request) {
  Connection connection = TakeConnection();
  if (connection == nullptr) return {hresult::kNoMoreEndpoints};
  std::optional<Reply> reply = Exchange(*connection, request);
  if (!reply) return {hresult::kRpcCallFailed};  // and the connection ends
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(connection));
  return *std::move(reply);
}

std::pair<Reply, std::unique_ptr<Stream>> RemoteClient::Begin(const Request& request) {
  Connection connection = Dial();
  if (connection == nullptr) return {Reply{hresult::kNoMoreEndpoints}, nullptr};
  std::optional<Reply> reply = Exchange(*connection, request);
  if (!reply) return {Reply{hresult::kRpcCallFailed}, nullptr};
  if (!reply->ok()) connection.reset();
  return {*std::move(reply), std::move(connection)};
}

}  // namespace weft::hns::emulator
