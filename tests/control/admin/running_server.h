// SPDX-License-Identifier: Apache-2.0
// A server with its own thread and endpoint, and clients that send any bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "control/admin/http_server.h"

namespace weft::admin {

// A fresh empty folder, removed at the end with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  // A path in it that can be an endpoint here: a socket's, or on Windows a pipe's of its name.
  std::string Endpoint(std::string_view name = "admin.sock") const;

 private:
  std::filesystem::path path_;
};

class RunningServer {
 public:
  // Aborts when it cannot listen. Listens on the local endpoint and on TCP port tcp_port() of
  // 127.0.0.1.
  explicit RunningServer(Handler handler, HttpLimits limits = {});
  ~RunningServer();

  const std::string& endpoint() const { return endpoint_; }
  std::uint16_t tcp_port() const { return tcp_port_; }
  // Runs `action` on the server's thread and returns after it.
  void Do(const std::function<void(HttpServer&)>& action);

 private:
  struct Impl;
  TemporaryFolder folder_;
  std::string endpoint_;
  std::uint16_t tcp_port_ = 0;
  std::unique_ptr<Impl> impl_;
};

// Accepts one connection on a local endpoint, reads a request and answers it with `bytes`.
class RawServer {
 public:
  explicit RawServer(std::string bytes);
  ~RawServer();

  const std::string& endpoint() const { return endpoint_; }

 private:
  struct Impl;
  TemporaryFolder folder_;
  std::string endpoint_;
  std::unique_ptr<Impl> impl_;
};

// Connects, sends `bytes` and returns all bytes until the server closes; or the error's text.
std::string RawExchange(const std::string& endpoint, std::string_view bytes);
std::string RawTcpExchange(std::uint16_t port, std::string_view bytes);

}  // namespace weft::admin
