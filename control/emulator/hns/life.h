// SPDX-License-Identifier: Apache-2.0
// What a restart of the service and one of the machine leave of the state.
#pragma once

#include "control/emulator/hns/emulator.h"
#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

void LoseByRestart(Core& core, const Restart& restart);
void LoseByReboot(Core& core, const Restart& restart);
// The service runs, or will, by itself.
void ComeBack(Core& core, const Restart& restart);

}  // namespace weft::hns::emulator
