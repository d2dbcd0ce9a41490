// SPDX-License-Identifier: Apache-2.0
// The Hcn* functions by kind of object, after handles were resolved to ids.
#pragma once

#include <string>

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

// A JSON array of ids, lower case.
Reply EnumerateObjects(Core& core, Kind kind, const std::string& query);
// `network` is that of an endpoint. The reply's text is the new id.
Reply CreateObject(Core& core, Kind kind, const Guid& network, const Guid& id,
                   const std::string& settings);
// kOk if the object exists.
Reply FindObject(Core& core, Kind kind, const Guid& id);
Reply ModifyObject(Core& core, Kind kind, const Guid& id, const std::string& request);
Reply ShowObject(Core& core, Kind kind, const Guid& id, const std::string& query);
Reply DeleteObject(Core& core, Kind kind, const Guid& id);

}  // namespace weft::hns::emulator
