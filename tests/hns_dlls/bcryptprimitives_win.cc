// SPDX-License-Identifier: Apache-2.0
// bcryptprimitives.dll, which Wine 8 lacks: the one function that programs built by Go 1.22 and
// later need to start.
#include <windows.h>

extern "C" {

// RtlGenRandom, exported under this name only.
BOOLEAN NTAPI SystemFunction036(void* bytes, ULONG size);

BOOL WINAPI ProcessPrng(BYTE* bytes, SIZE_T size) {
  constexpr SIZE_T kPiece = 1u << 20;
  while (size > 0) {
    const SIZE_T piece = size < kPiece ? size : kPiece;
    if (SystemFunction036(bytes, static_cast<ULONG>(piece)) == 0) return FALSE;
    bytes += piece;
    size -= piece;
  }
  return TRUE;
}

}  // extern "C"
