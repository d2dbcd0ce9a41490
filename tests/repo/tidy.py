#!/usr/bin/env python3
"""clang-tidy over the compile commands of a build folder; files that were clean before, to the last included byte, are skipped.

A unity build's files are checked sixteen at a time: a quarter of the time, and the same findings.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = "clang-tidy-14"
# A unity file is nothing but #includes of .cc files.
CHECKS = "-bugprone-suspicious-include"
# What a library is made of, sixteen files at a time, and the programs' files; then what only Windows has.
PARTS = [("build/dev", "^(build/dev/)?(vxlan|dataplane|hns|control|bench)/"),
         ("build/windows", r"^(vxlan|dataplane|hns|control)/.*_win\.cc$")]
SHIM = ROOT / "cmake" / "clang14_source_location.h"


def cache():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(os.environ.get("WEFT_DEPS") or os.path.join(home, "weft")) / "tidy"


def chosen(build, pattern):
    """The compile commands of files whose path in the tree, or in the build folder, fits."""
    for row in json.loads((build / "compile_commands.json").read_text()):
        path = os.path.relpath(row["file"], ROOT)
        if "verify_interface_header_sets" not in path and re.search(pattern, path):
            yield path, row


@functools.cache
def cross(compiler):
    """What clang needs to compile as mingw's g++ does."""
    target = re.search(r"(x86_64-w64-mingw32)-g\+\+", compiler)
    if not target:
        return []
    printed = subprocess.run([compiler, "-xc++", "-E", "-v", "/dev/null"], capture_output=True, text=True, check=True).stderr
    folders = printed.split("#include <...> search starts here:\n")[1].split("End of search list.")[0].split()
    # GCC's intrinsics; clang has different ones.
    folders = [folder for folder in folders if not re.search("/include(-fixed)?$", folder) or "/lib/gcc/" not in folder]
    return [f"--target={target[1]}", *(f"-isystem{folder}" for folder in folders)]


def key(words, row, config):
    """Hash of all that clang-tidy would read. Line markers stay, because NOLINT and the header filter use them."""
    words = list(words)
    output = words.index("-o")
    del words[output:output + 2]
    words[words.index("-c")] = "-E"
    # Comments count: NOLINT is one.
    text = subprocess.run([*words, "-C", "-w"], cwd=row["directory"], capture_output=True, check=True).stdout
    text = text.replace(str(ROOT).encode(), b"")
    return hashlib.sha256(config + text).hexdigest()


def check(path, row, build, config):
    """("clean" | "as before" | the errors)."""
    words = shlex.split(row["command"])
    try:
        extra = cross(next(word for word in words if "g++" in word))
        seen = cache() / key(words, row, config)
    except (subprocess.CalledProcessError, StopIteration, ValueError) as error:
        return path, f"{path}: cannot be preprocessed: {error}"
    if seen.exists():
        return path, "as before"
    done = subprocess.run([TOOL, "-quiet", f"-checks={CHECKS}", "-p", str(build), f"--extra-arg=-include{SHIM}",
                           *(f"--extra-arg={word}" for word in extra), row["file"]], capture_output=True, text=True, check=False)
    # A path of the analyser through our code may end in a library's coroutine, which it does not understand.
    ours = re.search(rf"^(?:{re.escape(str(ROOT))}\S* )?error:", done.stdout, re.MULTILINE)
    if done.returncode != 0 and (ours or "error:" not in done.stdout):
        return path, done.stdout.strip() or done.stderr.strip()
    seen.parent.mkdir(parents=True, exist_ok=True)
    seen.touch()
    return path, "clean"


def main():
    parser = argparse.ArgumentParser(prog="tests/repo/tidy.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", metavar="BUILD PATTERN", help="a configured build folder and a regular expression: of the files' "
                        "paths from the root of the tree (default: all that ships)")
    words = parser.parse_args().part
    if len(words) not in (0, 2):
        parser.error("a build folder and a pattern")
    os.chdir(ROOT)
    rows = []
    for name, pattern in [words] if words else PARTS:
        build = pathlib.Path(name).resolve()
        part = [(path, row, build) for path, row in chosen(build, pattern)]
        if not part:
            print(f"{name}: no file fits {pattern}")
            return 1
        rows += part
    version = subprocess.run([TOOL, "--version"], capture_output=True, check=True).stdout
    config = version + (ROOT / ".clang-tidy").read_bytes()
    before = bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for future in concurrent.futures.as_completed(
                [pool.submit(check, path, row, build, config) for path, row, build in rows]):
            path, verdict = future.result()
            before += verdict == "as before"
            if verdict not in ("clean", "as before"):
                bad += 1
                print(f"{path}:\n{verdict}", flush=True)
            elif verdict == "clean":
                print(f"clean {path}", flush=True)
    print(f"{len(rows)} files, {before} of them as they were when they were clean; {bad} with findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
