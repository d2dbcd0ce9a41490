// SPDX-License-Identifier: Apache-2.0
#include "control/lease/peer_state.h"
