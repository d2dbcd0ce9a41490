// SPDX-License-Identifier: Apache-2.0
// Writes a subscriber's notifications, so that one who does not read them holds up nobody.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "hns/api/api.h"
#include "hns/emulator/remote/stream.h"

namespace weft::hns::emulator {

class NoticeWriter {
 public:
  explicit NoticeWriter(Stream& stream) : stream_(stream) {}
  // Nobody else writes to the stream from here on.
  void Begin();
  // Writes what is left.
  ~NoticeWriter();

  // Any thread; never waits. Who is kMostWaiting behind loses the connection.
  void Add(Notification type, std::string_view data);

 private:
  static constexpr std::size_t kMostWaiting = 100'000;
  void Run();

  Stream& stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;  // guarded by mutex_
  bool ending_ = false;              // guarded by mutex_
  std::thread thread_;
};

}  // namespace weft::hns::emulator
