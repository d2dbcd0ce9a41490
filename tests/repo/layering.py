#!/usr/bin/env python3
"""Checks every #include of the tree in the first argument against layers.txt next to this script.

CMake cannot: all targets share the repository as include base. Prints file:line and the reason of
each violation. In addition: OS headers and OS conditionals only in _linux/_win files,
intrinsics only in _avx512/_avx2/_sse2 files, product targets without test code.
"""
import fnmatch
import pathlib
import re
import sys

STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono
cinttypes climits clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp
csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception
execution filesystem forward_list fstream functional future initializer_list iomanip ios iosfwd
iostream istream iterator latch limits list locale map memory memory_resource mutex new numbers
numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex
source_location span sstream stack stdexcept stop_token streambuf string string_view syncstream
system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray
variant vector version
""".split())
LIBRARIES = ("absl", "boost", "nlohmann", "simdjson", "yaml-cpp", "re2", "spdlog", "fmt", "CLI",
             "protozero", "openssl", "gtest", "gmock", "benchmark")
INTRINSICS = re.compile(r"\w*intrin\.h|arm_\w+\.h")
INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')
OS_CONDITIONAL = re.compile(
    r"\s*#\s*(if|ifdef|ifndef|elif)\b.*(_WIN32|_WIN64|__linux__|__unix__|_MSC_VER|__MINGW|__APPLE__)")
OS_FILE = re.compile(r"_(linux|win)\.(cc|h)$")
CPU_FILE = re.compile(r"_(avx512|avx2|sse2)\.(cc|h)$")
TEST_CODE = re.compile(r"\b(tests/|GTest::|gmock)")
SOURCES = (".cc", ".h", ".def")
HERE = pathlib.Path(__file__).parent


class Layers:
    def __init__(self, text):
        self.folders, self.libraries, self.only = {}, {}, {}
        self.open, self.closed = set(), set()
        for line in text.splitlines():
            kind, _, rest = line.split("#")[0].strip().partition(" ")
            if kind == "layer":
                folder, includes, libraries = (part.split() for part in rest.split(":"))
                self.folders[folder[0]], self.libraries[folder[0]] = includes, libraries
            elif kind in ("open", "closed"):
                getattr(self, kind).add(rest.strip())
            elif kind == "only":
                library, _, *files = rest.split()
                self.only[library] = files

    def of(self, path):
        """The layer of this file, or None."""
        fitting = [folder for folder in self.folders if path.startswith(folder + "/")]
        return max(fitting, key=len, default=None)

    def refuse_folder(self, source, target):
        if target == source or target in self.open:
            return None
        if target in self.closed and source not in ("tests", "bench"):
            return f"no other folder includes {target}"
        allowed = self.folders[source]
        if "all" in allowed or target in allowed:
            return None
        return f"{source} may include {' '.join(allowed) or 'no other folder'}, not {target}"

    def refuse_library(self, path, source, include):
        library = next(name for name in LIBRARIES if is_of(name, include))
        allowed = self.libraries[source]
        if "all" not in allowed and not any(is_of(prefix, include) for prefix in allowed):
            return f"{source} may use {' '.join(allowed) or 'no library'}, not {library}"
        if source in ("tests", "bench"):
            return None
        files = self.only.get(library)
        if files and not any(fnmatch.fnmatch(path, pattern) for pattern in files):
            return f"{library} only in {' '.join(files)}"
        if library in ("gtest", "gmock", "benchmark"):
            return f"{library} only in tests and bench"
        return None


def is_of(prefix, include):
    return include == prefix or include.startswith((prefix + "/", prefix + "."))


def refuse_include(layers, root, path, include):
    """Why this file must not include that, or None."""
    source, target = layers.of(path), layers.of(include)
    if target:
        return layers.refuse_folder(source, target) or (
            None if (root / include).exists() else "no such file; includes start at the repository")
    if any(is_of(name, include) for name in LIBRARIES):
        return layers.refuse_library(path, source, include)
    if include in STANDARD or source in ("tests", "bench"):
        return None
    if INTRINSICS.fullmatch(include):
        return None if CPU_FILE.search(path) else "intrinsics only in _avx512, _avx2, _sse2 files"
    if source == "vxlan":
        return "vxlan includes the standard library only"
    if OS_FILE.search(path):
        return None
    return "neither standard nor weft's nor a listed library; OS headers only in _linux and _win files"


def violations(root, layers):
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        source = layers.of(path)
        if not source or not file.is_file():
            continue
        product = source not in ("tests", "bench")
        if file.name == "CMakeLists.txt" and product:
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if TEST_CODE.search(line.split("#")[0]):
                    yield path, number, line.strip(), "test code in a product target"
        if file.suffix not in SOURCES:
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if include := INCLUDE.match(line):
                if reason := refuse_include(layers, root, path, include[1]):
                    yield path, number, line.strip(), reason
            elif product and not OS_FILE.search(path) and OS_CONDITIONAL.match(line):
                yield path, number, line.strip(), "OS conditionals only in _linux and _win files"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    layers = Layers((HERE / "layers.txt").read_text())
    found = [f"{path}:{number}: {line}: {reason}" for path, number, line, reason in violations(root, layers)]
    print("\n".join(found + [f"{len(found)} violations"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
