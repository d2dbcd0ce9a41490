// SPDX-License-Identifier: Apache-2.0
#include "control/sources/file_stamp.h"
