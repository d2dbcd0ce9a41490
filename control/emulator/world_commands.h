// SPDX-License-Identifier: Apache-2.0
// Commands to a whole emulated node, as JSON: those to its HNS (hns/emulator/remote/commands.h) and
// those to its host.
#pragma once

#include <string>

#include "control/emulator/world.h"
#include "hns/api/api.h"

namespace weft::emulator {

// {"command":"rename","adapter":"Ethernet","to":"Ethernet 2"}. The reply's text is an object, its
// error record says what is wrong.
hns::Reply Command(World& world, const std::string& text);

}  // namespace weft::emulator
