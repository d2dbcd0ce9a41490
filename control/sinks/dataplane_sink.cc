// SPDX-License-Identifier: Apache-2.0
#include "control/sinks/dataplane_sink.h"
