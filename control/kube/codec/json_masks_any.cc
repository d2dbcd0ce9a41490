// SPDX-License-Identifier: Apache-2.0
#include "control/kube/codec/json_masks.h"

namespace weft::kube {

JsonMasks JsonMasksOf(const char* block) { return JsonMasksOfAny(block); }

}  // namespace weft::kube
