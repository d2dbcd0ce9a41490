// SPDX-License-Identifier: Apache-2.0
#include "control/kube/node_codec_json.h"
