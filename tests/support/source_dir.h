// SPDX-License-Identifier: Apache-2.0
// The folder of the repository, for tests that read its files. Under Wine too: the current drive is
// Z:, the host's root.
#pragma once

namespace weft::testing {

extern const char kSourceDir[];  // CMakeLists.txt writes the definition

}  // namespace weft::testing
