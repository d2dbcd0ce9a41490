// SPDX-License-Identifier: Apache-2.0
#include "control/net_conf.h"
