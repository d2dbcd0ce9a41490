// SPDX-License-Identifier: Apache-2.0
#include "control/emulator/remote/served_host.h"

#include <utility>

#include "control/emulator/remote/host_call.h"

namespace weft::emulator {

hns::Reply ServedHost::Answer(const std::string& text) {
  const absl::StatusOr<HostCall> call = ParseHostCall(text);
  hns::Reply reply;
  if (call.ok()) {
    reply.text = Encode(CarryOut(host_, *call));
  } else {
    reply.code = hns::hresult::kInvalidArgument;
    reply.error_record = call.status().message();
  }
  return reply;
}

std::shared_ptr<void> ServedHost::Watch(std::function<void()> changed) {
  absl::StatusOr<std::unique_ptr<host::Watch>> watch = host_.WatchChanges(std::move(changed));
  return watch.ok() ? std::shared_ptr<host::Watch>(*std::move(watch)) : nullptr;
}

}  // namespace weft::emulator
