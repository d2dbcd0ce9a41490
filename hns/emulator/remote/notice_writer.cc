// SPDX-License-Identifier: Apache-2.0
#include "hns/emulator/remote/notice_writer.h"

#include "hns/emulator/remote/documents.h"
#include "hns/emulator/remote/remote_protocol.h"

namespace weft::hns::emulator {

void NoticeWriter::Begin() {
  thread_ = std::thread([this] { Run(); });
}

NoticeWriter::~NoticeWriter() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void NoticeWriter::Add(Notification type, std::string_view data) {
  {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return stream_.Shutdown();
    waiting_.push_back(Encode(Notice{type, std::string(data)}));
  }
  changed_.notify_one();
}

void NoticeWriter::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::string document = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    WriteDocument(stream_, document);
    lock.lock();
  }
}

}  // namespace weft::hns::emulator
