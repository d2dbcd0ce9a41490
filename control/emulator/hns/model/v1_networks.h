// SPDX-License-Identifier: Apache-2.0
// Translates HNS v1's network and endpoint documents to schema 2.
#pragma once

#include "control/emulator/hns/model/document.h"

namespace weft::hns::emulator {

Json NetworkFromV1(const Json& document);
Json EndpointFromV1(const Json& document);

}  // namespace weft::hns::emulator
