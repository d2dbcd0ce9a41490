// SPDX-License-Identifier: Apache-2.0
// Part of hns_api_contract.h: HNSCall.
#pragma once

namespace weft::testing {}  // namespace weft::testing
