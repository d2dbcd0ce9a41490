// SPDX-License-Identifier: Apache-2.0
#include "control/lease/lease_table.h"
