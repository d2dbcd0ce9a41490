# Cross-compiles to Windows x86-64 with Debian's posix-threads mingw-w64; programs run through Wine.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(_triple x86_64-w64-mingw32)
set(CMAKE_C_COMPILER ${_triple}-gcc-posix)
set(CMAKE_CXX_COMPILER ${_triple}-g++-posix)
set(CMAKE_RC_COMPILER ${_triple}-windres)

# Our own sysroot first (cmake/bootstrap.sh windows), then Debian's mingw; never /usr/include.
include(${CMAKE_CURRENT_LIST_DIR}/deps.cmake)
set(WEFT_WINDOWS_SYSROOT ${WEFT_DEPS}/windows CACHE PATH "cross-built dependencies")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WEFT_WINDOWS_SYSROOT)
set(CMAKE_FIND_ROOT_PATH ${WEFT_WINDOWS_SYSROOT} /usr/${_triple})
set(CMAKE_PREFIX_PATH ${WEFT_WINDOWS_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Windows 10 1809 (Server 2019), the first with the HNS that weft speaks to.
add_compile_definitions(_WIN32_WINNT=0x0A00 WINVER=0x0A00 NTDDI_VERSION=0x0A000006 WIN32_LEAN_AND_MEAN NOMINMAX)
set(CMAKE_CXX_FLAGS_INIT "-Wa,-mbig-obj")  # Asio and Beast objects exceed 65,535 COFF sections
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -static-libgcc -static-libstdc++")

get_filename_component(_tests ${CMAKE_CURRENT_LIST_DIR}/../tests ABSOLUTE)
set(CMAKE_CROSSCOMPILING_EMULATOR ${_tests}/wine/run.sh)
