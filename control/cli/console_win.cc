// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <cstdio>
#include <initializer_list>

#include "control/cli/console.h"

namespace weft::cli {

void PrepareConsole() {
  ::SetConsoleOutputCP(CP_UTF8);
  for (std::FILE* stream : {stdin, stdout, stderr}) ::_setmode(::_fileno(stream), _O_BINARY);
}

}  // namespace weft::cli
