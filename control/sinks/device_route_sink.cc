// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/device_route_sink.h"
