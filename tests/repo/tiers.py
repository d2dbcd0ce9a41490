#!/usr/bin/env python3
"""Each test of the tree in the first argument belongs to a tier (CONTRIBUTING.md, Tiers), and each part of --nightly can run; prints file: reason."""
import pathlib
import re
import subprocess
import sys

SUITES = ("tests/netns/", "tests/e2e/")  # their runners find *_test.py


def named_in_cmake(root, path):
    """Whether a CMakeLists.txt of the folder, of one above it, or of tests/repo has the test's name."""
    lists = [root / folder / "CMakeLists.txt" for folder in (*path.parents, "tests/repo")]
    word = re.compile(rf"\b{path.stem.removesuffix('_test')}(_test)?\b")
    return any(word.search(each.read_text()) for each in lists if each.exists())


def tests_that_nothing_runs(root, names):
    for name in filter(lambda name: name.startswith("tests/"), names):
        path = pathlib.Path(name)
        if name.endswith(("_test.cc", "_fuzz.cc")) or name.endswith("_test.py") and not name.startswith(SUITES):
            if not named_in_cmake(root, path):
                yield f"{name}: no CMakeLists.txt names it, so no tier runs it"
        elif name.startswith(SUITES) and path.suffix == ".py" and not (name.endswith("_test.py") and name.count("/") == 2):
            for found in re.finditer(r"^def (test_\w+)", (root / name).read_text(), re.M):
                yield f"{name}: {found[1]}: the suite finds tests only in the files *_test.py of its own folder, so no tier runs it"


def parts(root):
    """{name: paths that it reads} of tests/parts.tsv, groups resolved."""
    rows = [line.split("\t") for line in (root / "tests/parts.tsv").read_text().splitlines() if not line.startswith("#")]
    groups = {row[0].removeprefix("="): row[1].split() for row in rows if row[0].startswith("=")}
    return {row[0]: [path for word in row[1].split() for path in groups.get(word, [word])] for row in rows if not row[0].startswith("=")}


def parts_that_cannot_run(root, names):
    runner = (root / "tests/run.sh").read_text()
    soaks = {pathlib.Path(name).stem for name in names if re.fullmatch(r"tests/soak/\w+\.sh", name)}
    found = parts(root)
    for part, paths in found.items():
        if part not in soaks and not re.search(rf"^part_{part}\(\)", runner, re.M):
            yield f"tests/parts.tsv: {part}: tests/run.sh has no part_{part}, and there is no tests/soak/{part}.sh"
        for path in paths:
            if path != "." and path not in names and not any(name.startswith(path + "/") for name in names):
                yield f"tests/parts.tsv: {part}: no file {path}"
    for soak in sorted(soaks - set(found)):
        yield f"tests/soak/{soak}.sh: tests/parts.tsv has no part {soak}, so no tier runs it"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    names = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], check=True, capture_output=True, text=True).stdout.splitlines()
    names = [name for name in names if (root / name).is_file()]
    found = [*tests_that_nothing_runs(root, names), *parts_that_cannot_run(root, names)]
    print("\n".join(found + [f"{len(names)} files, {len(found)} findings"]))
    return 1 if found or not names else 0


if __name__ == "__main__":
    sys.exit(main())
