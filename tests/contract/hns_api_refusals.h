// SPDX-License-Identifier: Apache-2.0
// Part of hns_api_contract.h: what HNS refuses, and every switch of it both ways.
#pragma once

namespace weft::testing {}  // namespace weft::testing
