// SPDX-License-Identifier: Apache-2.0
#include "control/kube/backend_data.h"
