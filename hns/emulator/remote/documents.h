// SPDX-License-Identifier: Apache-2.0
// Documents over a stream.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "hns/emulator/remote/stream.h"

namespace weft::hns::emulator {

bool WriteDocument(Stream& stream, std::string_view document);
// Unavailable: the connection is at its end.
absl::StatusOr<std::string> ReadDocument(Stream& stream);

}  // namespace weft::hns::emulator
