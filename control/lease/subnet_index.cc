// SPDX-License-Identifier: Apache-2.0
#include "control/lease/subnet_index.h"
