// SPDX-License-Identifier: Apache-2.0
#include "json_templates.h"

WEFT_JSON_TEMPLATES(, nlohmann::basic_json<>)
WEFT_JSON_TEMPLATES(, nlohmann::basic_json<nlohmann::ordered_map>)
