// SPDX-License-Identifier: Apache-2.0
// Counts every operator new of the program that this is linked into. Not with sanitizers, which
// have their own operator new.
#pragma once

#include <cstdint>

namespace weft {

// So far, of all threads.
std::uint64_t Allocations();

// Bytes allocated now, as glibc's malloc rounds them: the same in every run and on every system.
std::int64_t AllocatedBytes();
// The highest value since BeginPeak.
std::int64_t PeakBytes();
void BeginPeak();

}  // namespace weft
