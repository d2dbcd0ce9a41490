// SPDX-License-Identifier: Apache-2.0
// What a restart of the service and one of the machine leave of the world.
#pragma once

#include "hns/emulator/core.h"
#include "hns/emulator/emulator.h"

namespace weft::hns::emulator {

void LoseByRestart(Core& core, const Restart& restart);
void LoseByReboot(Core& core, const Restart& restart);
// The service runs, or will, by itself.
void ComeBack(Core& core, const Restart& restart);

}  // namespace weft::hns::emulator
