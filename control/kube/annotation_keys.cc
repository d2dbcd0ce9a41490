// SPDX-License-Identifier: Apache-2.0
#include "control/kube/annotation_keys.h"
