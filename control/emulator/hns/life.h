// SPDX-License-Identifier: Apache-2.0
// The effect of a restart of the service, or of the machine, on the state.
#pragma once

#include "control/emulator/hns/emulator.h"
#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

void LoseByRestart(Core& core, const Restart& restart);
void LoseByReboot(Core& core, const Restart& restart);
// Starts the service, now or after Restart::away.
void ComeBack(Core& core, const Restart& restart);

}  // namespace weft::hns::emulator
