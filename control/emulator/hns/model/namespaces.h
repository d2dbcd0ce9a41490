// SPDX-License-Identifier: Apache-2.0
// Namespaces (compartments): pods' and the host's.
#pragma once

#include "control/emulator/hns/model/core.h"

namespace weft::hns::emulator {

Reply CreateNamespace(Core& core, const Guid& id, const Json& document);
Reply ModifyNamespace(Core& core, NamespaceObject& space, const Json& request);
Reply DeleteNamespace(Core& core, Guid id);
Reply AddToNamespace(Core& core, NamespaceObject& space, const Guid& endpoint);
Reply RemoveFromNamespace(Core& core, NamespaceObject& space, Guid endpoint);

std::string NamespaceV2(const NamespaceObject& space);
Json NamespaceV1(const NamespaceObject& space);

}  // namespace weft::hns::emulator
