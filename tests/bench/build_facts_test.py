#!/usr/bin/env python3
"""Facts about build and machine."""
import json
import pathlib
import tempfile
import unittest

import support  # noqa: F401
import build_facts

CACHE = """// comment
CMAKE_BUILD_TYPE:STRING=Release
CMAKE_CXX_COMPILER:FILEPATH=/bin/true
CMAKE_CXX_FLAGS:STRING=
CMAKE_CXX_FLAGS_RELEASE:STRING=-O3 -DNDEBUG
CMAKE_CXX_FLAGS_DEBUG:STRING=-g
"""


class BuildFactsTest(unittest.TestCase):
    def test_flags_of_the_build_type(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "CMakeCache.txt").write_text(CACHE)
            found = build_facts.compiler(folder)
        self.assertEqual((found["build_type"], found["flags"]), ("Release", "-O3 -DNDEBUG"))

    def test_a_folder_that_is_no_build(self):
        self.assertEqual(build_facts.compiler("/does-not-exist"), {})
        self.assertEqual(build_facts.compile_options(build_facts.compile_database("/does-not-exist"), "x"), "")

    def test_compile_options_without_paths(self):
        database = json.dumps([
            {"file": "/r/vxlan/a.cc", "command": "g++ -O1 -c a.cc"},
            {"file": "dataplane/a.a", "command": "ar qc dataplane/a.a"},
            {"file": "/r/dataplane/a.cc", "command": "g++ -I/r -O3 -std=c++20 -fno-rtti -DX=/r/x -o a.o -c a.cc"}])
        self.assertEqual(build_facts.compile_options(database, "dataplane/"), "-O3 -std=c++20 -fno-rtti")

    def test_the_chosen_word(self):
        self.assertEqual(build_facts.bracketed("always [madvise] never"), "madvise")
        self.assertIsNone(build_facts.bracketed(None))

    def test_mitigations(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "mds").write_text("Not affected\n")
            self.assertEqual(build_facts.mitigations(folder), {"mds": "Not affected"})
        self.assertEqual(build_facts.mitigations("/does-not-exist"), {})


if __name__ == "__main__":
    unittest.main()
