# The functions with which every folder describes itself, so that a CMakeLists.txt says only what is
# particular to it.

include(GoogleTest)

add_library(weft_options INTERFACE)
target_compile_options(weft_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
  -Wcast-align -Wunused -Wformat=2 -Wimplicit-fallthrough -Wextra-semi
  # clang builds the fuzz targets only; g++ decides what is clean.
  $<$<CXX_COMPILER_ID:GNU>:-Werror -Wduplicated-cond -Wlogical-op>
  # Guesses about run-time flow, often wrong inside g++ 12's own headers once inlined: shown, not fatal.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-error=uninitialized -Wno-error=maybe-uninitialized -Wno-error=restrict
    -Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=stringop-overread -Wno-error=free-nonheap-object -Wno-error=mismatched-new-delete>
  # What is private to one file is included there, and taken for what a header gives away.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${WEFT_UNITY}>>:-Wno-subobject-linkage>)

# weft_precompile(<target>): what nearly every file includes, every file of tests/, and Boost.Asio's of a library that links it,
# read once instead of once a file.
function(weft_precompile target)
  if(NOT WEFT_UNITY OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  set(headers weft_files_headers)
  set(options -fpch-preprocess)  # for ccache
  set(libraries absl::statusor absl::strings absl::time nlohmann_json::nlohmann_json)
  set(more)
  get_target_property(linked ${target} LINK_LIBRARIES)
  if(WEFT_TESTS AND CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/tests")
    set(headers weft_tests_headers)
    list(APPEND options ${WEFT_TEST_OPTIONS})
    list(APPEND libraries GTest::gmock)
    set(more <gmock/gmock.h> <gtest/gtest.h>)
  elseif(weft::boost IN_LIST linked)
    set(headers weft_asio_headers)
    list(APPEND libraries weft::boost)
    set(more <boost/asio/awaitable.hpp> <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp>
      <boost/asio/steady_timer.hpp> <boost/asio/use_awaitable.hpp>)
  endif()
  if(NOT TARGET ${headers})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${headers}.cc CONTENT "// empty\n")
    add_library(${headers} OBJECT ${PROJECT_BINARY_DIR}/${headers}.cc)
    target_link_libraries(${headers} PRIVATE ${libraries} weft_options)
    target_include_directories(${headers} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_options(${headers} PRIVATE ${options})
    target_precompile_headers(${headers} PRIVATE
      <algorithm> <chrono> <filesystem> <fstream> <functional> <map> <memory> <optional> <random> <set> <span> <sstream>
      <string> <thread> <vector>
      <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_join.h> <absl/time/time.h>
      <cmake/json_templates.h> ${more})  # no path of this clone: ccache
  endif()
  if(NOT TARGET weft_json_templates)
    add_library(weft_json_templates STATIC ${PROJECT_SOURCE_DIR}/cmake/json_templates.cc)
    target_link_libraries(weft_json_templates PRIVATE nlohmann_json::nlohmann_json weft_options)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
  target_compile_options(${target} PRIVATE ${options})
  target_link_libraries(${target} PRIVATE ${libraries} weft_json_templates)
endfunction()

# ALONE in weft_library and weft_test: sources with private names that others of the target have, too; WEFT_UNITY
# compiles them by themselves.
function(weft_alone)
  if(ARGV)
    set_source_files_properties(${ARGV} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# weft_library(<name> [SOURCES ...] [ALONE ...] [HEADERS ...] [LINUX_SOURCES ...] [WINDOWS_SOURCES ...]
#              [LINUX_HEADERS ...] [WINDOWS_HEADERS ...] [PUBLIC lib...] [PRIVATE lib...])
# Static library weft_<name>, alias weft::<name>; without sources an INTERFACE library.
# PUBLIC is what its headers show, PRIVATE the rest: the link line is an architecture statement.
function(weft_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg ""
    "" "SOURCES;ALONE;HEADERS;LINUX_SOURCES;WINDOWS_SOURCES;LINUX_HEADERS;WINDOWS_HEADERS;PUBLIC;PRIVATE")
  weft_reject_unparsed("weft_library(${name})" "${arg_UNPARSED_ARGUMENTS}")
  if(WIN32)
    set(sources ${arg_SOURCES} ${arg_ALONE} ${arg_WINDOWS_SOURCES})
    set(headers ${arg_HEADERS} ${arg_WINDOWS_HEADERS})
  else()
    set(sources ${arg_SOURCES} ${arg_ALONE} ${arg_LINUX_SOURCES})
    set(headers ${arg_HEADERS} ${arg_LINUX_HEADERS})
  endif()

  set(target weft_${name})
  if(sources)
    add_library(${target} STATIC)
    target_sources(${target} PRIVATE ${sources})
    target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE} weft_options)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${WEFT_UNITY} UNITY_BUILD_BATCH_SIZE 16)
    weft_alone(${arg_ALONE})
    weft_precompile(${target})
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${arg_PUBLIC} ${arg_PRIVATE})
    set(scope INTERFACE)
  endif()
  add_library(weft::${name} ALIAS ${target})
  target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR})
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()

# weft_program(<target> SOURCES ... [LIBS ...])
function(weft_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  weft_reject_unparsed("weft_program(${target})" "${arg_UNPARSED_ARGUMENTS}")
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE ${arg_LIBS} weft_options)
endfunction()

# weft_windows_resources(<program> <description>): version and manifest (UTF-8 code page, long paths) of a program that ships.
function(weft_windows_resources target description)
  if(WIN32)
    set(manifest ${PROJECT_BINARY_DIR}/${target}.manifest)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/program.manifest.in ${manifest} @ONLY)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/program.rc.in ${PROJECT_BINARY_DIR}/${target}.rc @ONLY)
    set_source_files_properties(${PROJECT_BINARY_DIR}/${target}.rc PROPERTIES OBJECT_DEPENDS ${manifest})
    add_library(${target}_resources OBJECT ${PROJECT_BINARY_DIR}/${target}.rc)  # windres knows none of g++'s options
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_resources>)
  endif()
endfunction()

# weft_test(<name> SOURCES ... [ALONE ...] [LIBS ...] [LABEL unit|contract|fuzz-replay|repo] [LINUX_ONLY] [THREADS | VALUES] [UNSANITIZED [SAMPLED]])
# A GoogleTest executable, each case a ctest (with WEFT_WHOLE_PROGRAMS half of them is). THREADS: more than one
# thread runs in it. VALUES: what it tests has values of the standard library alone, no buffer, handle or lifetime of
# its own, so that the gate runs it under no sanitizer. UNSANITIZED: a sanitizer changes what it tests, or runs only a
# part of it (SAMPLED).
function(weft_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "LINUX_ONLY;THREADS;VALUES;UNSANITIZED;SAMPLED" "LABEL" "SOURCES;ALONE;LIBS")
  weft_reject_unparsed("weft_test(${name})" "${arg_UNPARSED_ARGUMENTS}")
  set(arg_MEMORY TRUE)
  if(arg_THREADS OR arg_VALUES)
    set(arg_MEMORY FALSE)
  endif()
  set(chosen FALSE)
  foreach(kind IN LISTS WEFT_TESTS_ONLY)
    if(arg_${kind})
      set(chosen TRUE)
    endif()
  endforeach()
  if(NOT WEFT_TESTS OR (WIN32 AND arg_LINUX_ONLY) OR (WEFT_TESTS_ONLY AND NOT chosen)
     OR (arg_UNSANITIZED AND NOT arg_SAMPLED AND CMAKE_CXX_FLAGS MATCHES "-fsanitize="))
    return()
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(arg_THREADS)
    string(APPEND arg_LABEL -threads)  # what depends on time: tests/run.sh --flaky
  endif()
  weft_program(${name} SOURCES ${arg_SOURCES} ${arg_ALONE} LIBS ${arg_LIBS} weft::source_dir GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${WEFT_UNITY} UNITY_BUILD_BATCH_SIZE 16)
  weft_alone(${arg_ALONE})
  target_compile_options(${name} PRIVATE -Wno-dangling-else)  # `if (x) EXPECT_EQ(...)`: the macro's own if
  weft_precompile(${name})
  if(WEFT_WHOLE_PROGRAMS)
    foreach(shard IN ITEMS 0 1)  # so that two cores have work to the end
      add_test(NAME "${name}#${shard}" COMMAND ${name})
      set_tests_properties("${name}#${shard}" PROPERTIES LABELS ${arg_LABEL} TIMEOUT 1200
        ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${shard}")
    endforeach()
  else()
    gtest_discover_tests(${name} TEST_PREFIX ${name}: DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS ${arg_LABEL} TIMEOUT 300)  # a late wait may take two minutes
  endif()
  if(arg_THREADS)
    weft_add_to(thread_tests ${name})  # what the tsan build preset builds
  endif()
  if(arg_UNSANITIZED)
    weft_add_to(unsanitized_tests ${name})
  endif()
endfunction()

function(weft_add_to tests name)
  if(NOT TARGET ${tests})
    add_custom_target(${tests})
  endif()
  add_dependencies(${tests} ${name})
endfunction()

# weft_fuzz(<name> SOURCES ... [LIBS ...] CORPUS <dir> RUNS <number>)
# The sources define LLVMFuzzerTestOneInput. With WEFT_FUZZ: the libFuzzer binary <name>. Otherwise
# <name>_replay, a ctest that feeds it every file of the corpus. RUNS: how many inputs are some 4 s of CI.
function(weft_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORPUS;RUNS" "SOURCES;LIBS")
  weft_reject_unparsed("weft_fuzz(${name})" "${arg_UNPARSED_ARGUMENTS}")
  cmake_path(ABSOLUTE_PATH arg_CORPUS NORMALIZE)
  if(WEFT_FUZZ)
    weft_program(${name} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    if(NOT TARGET fuzz_targets)
      add_custom_target(fuzz_targets)  # what the fuzz build preset builds
    endif()
    add_dependencies(fuzz_targets ${name})
    # tests/soak/fuzz.sh reads this list: binary, corpus, runs.
    file(APPEND ${PROJECT_BINARY_DIR}/fuzz-targets.txt "${name} ${arg_CORPUS} ${arg_RUNS}\n")
  elseif(WEFT_TESTS AND (NOT WEFT_TESTS_ONLY OR "MEMORY" IN_LIST WEFT_TESTS_ONLY))
    if(NOT TARGET weft_fuzz_replay)
      add_library(weft_fuzz_replay OBJECT ${PROJECT_SOURCE_DIR}/tests/fuzz/replay_main.cc)
      target_link_libraries(weft_fuzz_replay PRIVATE weft_options)
    endif()
    weft_program(${name}_replay SOURCES ${arg_SOURCES} LIBS ${arg_LIBS} weft_fuzz_replay)
    weft_precompile(${name}_replay)
    add_test(NAME ${name}_replay COMMAND ${name}_replay ${arg_CORPUS})
    set_tests_properties(${name}_replay PROPERTIES LABELS fuzz-replay TIMEOUT 120)
  endif()
endfunction()

# weft_bench(<name> SOURCES ... [LIBS ...]): a Google Benchmark executable; add your own main or none.
function(weft_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  weft_reject_unparsed("weft_bench(${name})" "${arg_UNPARSED_ARGUMENTS}")
  if(WEFT_BENCHES)
    weft_program(${name} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS} benchmark::benchmark benchmark::benchmark_main)
  endif()
endfunction()

function(weft_reject_unparsed call rest)
  if(rest)
    message(FATAL_ERROR "${call}: does not know '${rest}'")
  endif()
endfunction()
