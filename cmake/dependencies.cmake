# Finds every library weft uses, once, under the names that the folders link.
#
# Debian's -dev packages serve Linux; what must be built (abseil; for Windows, everything) is put by
# cmake/bootstrap.sh into ${WEFT_DEPS}/linux, linux-tsan and windows. Imported targets are SYSTEM:
# our warnings do not reach into them.

include(deps)
if(NOT WIN32)  # the Windows toolchain file sets its own prefix
  set(WEFT_DEPS_FLAVOUR linux CACHE STRING "folder of WEFT_DEPS: linux, or linux-tsan")
  list(PREPEND CMAKE_PREFIX_PATH ${WEFT_DEPS}/${WEFT_DEPS_FLAVOUR})
endif()

set(_step build)
if(WIN32)
  set(_step windows)
elseif(WEFT_DEPS_FLAVOUR STREQUAL linux-tsan)
  set(_step tsan)
endif()

# weft_headers(<target> <header>): an INTERFACE target for a header-only library.
function(weft_headers target header)
  string(MAKE_C_IDENTIFIER "WEFT_${target}_INCLUDE" dir)
  find_path(${dir} ${header})
  mark_as_advanced(${dir})
  if(NOT ${dir})
    message(FATAL_ERROR "<${header}> not found; run: cmake/bootstrap.sh ${_step}")
  endif()
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${${dir}})
endfunction()

# weft_prebuilt(<target> <header> <library>): the same with a library to link, static if there is one.
function(weft_prebuilt target header library)
  weft_headers(${target} ${header})
  string(MAKE_C_IDENTIFIER "WEFT_${target}_LIBRARY" file)
  find_library(${file} NAMES lib${library}.a lib${library}_static.a ${library})
  mark_as_advanced(${file})
  if(NOT ${file})
    message(FATAL_ERROR "library '${library}' not found; run: cmake/bootstrap.sh ${_step}")
  endif()
  target_link_libraries(${target} INTERFACE ${${file}})
endfunction()

find_package(Threads REQUIRED)

# Debian's own libabsl-dev is of no use: its absl::string_view is not std::string_view.
find_package(absl CONFIG QUIET PATHS ${CMAKE_PREFIX_PATH} NO_DEFAULT_PATH)
if(NOT absl_FOUND)
  message(FATAL_ERROR "abseil not found in ${CMAKE_PREFIX_PATH}; run: cmake/bootstrap.sh ${_step}")
endif()

weft_headers(weft::boost boost/version.hpp)
file(STRINGS ${WEFT_weft__boost_INCLUDE}/boost/version.hpp _boost REGEX "define BOOST_VERSION ")
string(REGEX MATCH "[0-9]+" _boost "${_boost}")
if(_boost LESS 108100)
  message(FATAL_ERROR "Boost ${_boost} found, 108100 (1.81) wanted: Asio of 1.74 does not compile with "
                      "g++ 12 and lacks awaitable_operators; run: cmake/bootstrap.sh ${_step}")
endif()
target_link_libraries(weft::boost INTERFACE Threads::Threads $<$<BOOL:${WIN32}>:ws2_32;mswsock>)
# Else Asio's thread is one class where pthread.h happened to come first and another elsewhere: a thread begun by
# the one was "joined" by the other, which did not wait.
target_compile_definitions(weft::boost INTERFACE $<$<BOOL:${WIN32}>:BOOST_ASIO_HAS_PTHREADS=1>)

weft_headers(nlohmann_json::nlohmann_json nlohmann/json.hpp)
weft_headers(weft::cli11 CLI/CLI.hpp)
weft_headers(weft::protozero protozero/pbf_reader.hpp)
weft_headers(weft::fmt fmt/format.h)
target_compile_definitions(weft::fmt INTERFACE FMT_HEADER_ONLY)
weft_headers(weft::spdlog spdlog/spdlog.h)
target_compile_definitions(weft::spdlog INTERFACE SPDLOG_FMT_EXTERNAL
  $<$<BOOL:${WIN32}>:SPDLOG_WCHAR_FILENAMES>)  # else names are in the ANSI code page
target_link_libraries(weft::spdlog INTERFACE weft::fmt Threads::Threads)

weft_prebuilt(weft::simdjson simdjson.h simdjson)
weft_prebuilt(weft::yaml yaml-cpp/yaml.h yaml-cpp)
target_compile_definitions(weft::yaml INTERFACE $<$<BOOL:${WIN32}>:YAML_CPP_STATIC_DEFINE>)
weft_prebuilt(weft::re2 re2/re2.h re2)
target_link_libraries(weft::re2 INTERFACE Threads::Threads)
if(TARGET absl::absl_log)  # as with re2 since 2023, which is built with it
  target_link_libraries(weft::re2 INTERFACE absl::absl_check absl::absl_log absl::base absl::fixed_array absl::flat_hash_map
    absl::flat_hash_set absl::hash absl::inlined_vector absl::optional absl::span absl::str_format absl::strings
    absl::synchronization)
endif()
weft_prebuilt(weft::crypto openssl/evp.h crypto)
target_link_libraries(weft::crypto INTERFACE Threads::Threads $<$<BOOL:${WIN32}>:ws2_32;crypt32>)
weft_prebuilt(weft::ssl openssl/ssl.h ssl)
target_link_libraries(weft::ssl INTERFACE weft::crypto)
if(NOT WIN32)
  weft_prebuilt(weft::mnl libmnl/libmnl.h mnl)
  # Debian 13's libcrypto.a requires both.
  cmake_path(GET WEFT_weft__crypto_LIBRARY PARENT_PATH _lib)
  file(STRINGS ${_lib}/pkgconfig/libcrypto.pc _private REGEX "^Libs.private:.* -lz -lzstd ")
  if(_private)
    weft_prebuilt(weft::z zlib.h z)
    weft_prebuilt(weft::zstd zstd.h zstd)
    target_link_libraries(weft::crypto INTERFACE weft::z weft::zstd)
  endif()
endif()

if(WEFT_TESTS)
  find_package(GTest 1.12 CONFIG REQUIRED)
endif()
if(WEFT_BENCHES)
  find_package(benchmark 1.7 CONFIG REQUIRED)
endif()
