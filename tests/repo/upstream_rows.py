#!/usr/bin/env python3
"""Every row of tests/upstream-rows.md, faults.tsv and public_reports.tsv names tests of the tree in the first argument, or a reason; prints file:line: the error."""
import pathlib
import re
import sys

LIST = "tests/upstream-rows.md"
FAULTS = "tests/faults.tsv"
REPORTS = "tests/public_reports.tsv"
BY_HAND = "tried by hand"
REASONS = ("etcd:", "Linux:", "chart:", "elsewhere:")
GOOGLETEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.M)
NAME = re.compile(r"`([^`]*)`")
KINDS = {"netns": "tests/netns/{0}_test.py", "e2e": "tests/e2e/{0}_test.py",
         "fuzz": "tests/fuzz/{0}_fuzz.cc", "soak": "tests/soak/{0}.sh", "repo": "tests/repo/{0}.py", "bench": "tests/bench/{0}_test.py",
         "measure": "bench/{0}"}


def googletests(root):
    """{"Suite.Name"} of all sources under tests."""
    return {".".join(match) for path in (root / "tests").rglob("*") if path.suffix in (".cc", ".h")
            for match in GOOGLETEST.findall(path.read_text(errors="replace"))}


def exists(root, name, known):
    kind, colon, place = name.partition(":")
    if not colon:
        return name in known
    stem, _, function = place.partition(".")
    path = root / KINDS[kind].format(stem) if kind in KINDS else None
    if not path or not path.is_file():
        return False
    return not function or re.search(rf"^def test_{re.escape(function)}\(", path.read_text(), re.M) is not None


def rows(text):
    """(line number, row, proof) of the tables, without their heads."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("| ") and not line.startswith(("| row ", "| --- ")):
            row, _, proof = line.strip("| ").rpartition(" | ")
            yield number, row, proof


def check(root):
    known = googletests(root)
    for number, row, proof in rows((root / LIST).read_text()):
        reason = proof.startswith(REASONS)
        # In a reason a path may be quoted too.
        names = [name for name in NAME.findall(proof) if re.search(r"[:.]", name) and "/" not in name]
        if not row or not (names or reason):
            yield f"{LIST}:{number}: neither a test nor one of the reasons {' '.join(REASONS)}"
        for name in names:
            if not exists(root, name, known):
                yield f"{LIST}:{number}: there is no test {name}"
    for number, line in enumerate((root / FAULTS).read_text().splitlines()[1:], 2):
        row, commit, proof = line.split("\t") if line.count("\t") == 2 else ("", "", "")
        if not row or not re.fullmatch("[0-9a-f]{7,}", commit) or proof in ("", "none:"):
            yield f"{FAULTS}:{number}: it is not a row, a commit, and tests or a reason"
        for name in [] if proof.startswith("none: ") else proof.split():
            if not exists(root, name, known):
                yield f"{FAULTS}:{number}: there is no test {name}"
    for number, line in enumerate((root / REPORTS).read_text().splitlines()[1:], 2):
        cells = line.split("\t")
        if len(cells) != 7 or not all(cells[:2] + cells[3:]):
            yield f"{REPORTS}:{number}: it is not a number, a source, W or nothing, what came, what was expected, a verdict and tests"
        for name in [] if cells[-1] == BY_HAND else cells[-1].split():
            if not exists(root, name, known):
                yield f"{REPORTS}:{number}: there is no test {name}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = list(check(root))
    count = sum(1 for _ in rows((root / LIST).read_text()))
    print("\n".join(found + [f"{count} rows, {len(found)} findings"]))
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
