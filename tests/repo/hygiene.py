#!/usr/bin/env python3
"""Small rules of the tree in the first argument, one function each; prints file:line: reason."""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

# Written in parts, so that this file keeps the rule itself.
REGISTRIES = [".".join(parts) for parts in (
    ("deb", "debian", "org"), ("security", "debian", "org"), ("archive", "ubuntu", "com"),
    ("pypi", "org"), ("pythonhosted", "org"), ("registry", "npmjs"), ("crates", "io"),
    ("proxy", "golang", "org"), ("repo1", "maven"), ("repo", "maven"))]
FORBIDDEN_FOLDERS = {"src", "lib", "utils", "common", "third_party", "vendor", "docs", "scripts"}
TODO = re.compile(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))")
TEXT = {".cc", ".h", ".def", ".py", ".sh", ".cmake", ".txt", ".md", ".json", ".yaml", ".yml", ""}


def files(root):
    """The files that git tracks or would add; without git, all files."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        names = listed.stdout.splitlines()
    else:
        names = [p.relative_to(root).as_posix() for p in root.rglob("*")
                 if p.relative_to(root).parts[0] not in ("build", ".git")]
    return [name for name in sorted(names) if (root / name).is_file()]


def lines(root, name):
    if pathlib.Path(name).suffix not in TEXT or "/corpus/" in name:
        return []
    return (root / name).read_text(errors="replace").splitlines()


def no_registry_hosts(root, names):
    for name in names:
        for number, line in enumerate(lines(root, name), 1):
            for host in REGISTRIES:
                if host in line and not name.endswith("go.sum"):
                    yield f"{name}:{number}: names the registry {host}; a machine has its own"


def no_anonymous_todo(root, names):
    for name in names:
        if name == "tests/repo/hygiene.py":
            continue
        for number, line in enumerate(lines(root, name), 1):
            if TODO.search(line):
                yield f"{name}:{number}: write it as TODO" + "(#123): what the issue is"


def no_forbidden_folder(root, names):
    for folder in sorted({name.split("/")[0] for name in names if "/" in name} & FORBIDDEN_FOLDERS):
        yield f"{folder}/: not a top-level folder of this layout; see ARCHITECTURE.md"


def scripts_are_executable(root, names):
    for name in names:
        with open(root / name, "rb") as file:
            script = file.read(2) == b"#!"
        if script != os.access(root / name, os.X_OK):
            yield f"{name}: " + ("has #! but is not executable" if script else "executable, but without #!")


def ends_in_newline(root, names):
    for name in names:
        if pathlib.Path(name).suffix in TEXT and "/corpus/" not in name:
            data = (root / name).read_bytes()
            if data and not data.endswith(b"\n"):
                yield f"{name}: does not end in a newline"
            if b"\r\n" in data:
                yield f"{name}: has CRLF line ends"


def documents_name_what_exists(root, names):
    """`control/lease/sink.h` in a document at the top: a file, a folder, or a pattern that fits one."""
    known = set(names) | {"/".join(name.split("/")[:depth]) for name in names for depth in range(1, name.count("/") + 1)}
    tops = {name.split("/")[0] for name in known if "." not in name}
    for name in names:
        if "/" in name or not name.endswith(".md") or name == "CHANGELOG.md":
            continue
        for number, line in enumerate(lines(root, name), 1):
            for path in re.findall(r"`([a-z_]+/[A-Za-z0-9_./*-]*[A-Za-z0-9_*])[` ]", line):
                stems = (path, path + ".h", path + ".cc", path + "_linux.cc")
                if path.split("/")[0] in tops and not any(stem in known for stem in stems) and "NAME" not in path \
                        and "VERB" not in path and not fnmatch.filter(known, path + "*"):
                    yield f"{name}:{number}: {path} does not exist"


def tests_write_apart(root, names):
    """Two suites may name a test alike, and they run side by side."""
    shared = re.compile(r"TempDir\(\)\)?\s*[+/](?![^;]*TestName)")
    for name in names:
        if pathlib.Path(name).suffix in (".cc", ".h") and shared.search((root / name).read_text(errors="replace")):
            yield f"{name}: writes where another test may: a path from tests/support/test_path.h"


def loops_keep_what_they_walk(root, names):
    """Until C++23, `for (x : Make().value())` walks what a temporary held and has taken with it."""
    dangling = re.compile(r"\bfor \((?:[^;():]|::)+ : (?:\*(?!this\b)[\w:.>-]+\(|[^;{]*\)\.value\(\)\))")
    for name in names:
        if pathlib.Path(name).suffix in (".cc", ".h"):
            text = (root / name).read_text(errors="replace")
            for found in dangling.finditer(text):
                number = text.count("\n", 0, found.start()) + 1
                yield f"{name}:{number}: the loop walks inside a temporary; give that a name before the loop"


def headers_are_included(root, names):
    """No compiler says that a header is dead."""
    sources = [name for name in names if pathlib.Path(name).suffix in (".cc", ".h")]
    included = {header for name in sources
                for header in re.findall(r'^#include "([^"]+)"', (root / name).read_text(errors="replace"), re.MULTILINE)}
    for name in sources:
        if name.endswith(".h") and not name.startswith("cmake/") and name not in included:
            yield f"{name}: no source includes it"


def no_lost_wake_up(root, names):
    """GCC 12's std::latch, std::barrier and semaphores read the value before they lock, where there is no futex: on Windows
    a wake-up in between is lost, and the wait never ends."""
    for name in names:
        if pathlib.Path(name).suffix in (".cc", ".h") and "linux" not in name \
                and re.search(r"#include <(latch|barrier|semaphore)>", (root / name).read_text(errors="replace")):
            yield f"{name}: std::latch and its like hang on Windows with GCC 12; wait for a std::promise"


DEADLINE = re.compile(r"\.wait_(for|until)\(|\bsleep_(for|until)\(|= *(std::chrono::)?(steady_)?[cC]lock::now\(\) \+"
                      r"|[cC]lock::now\(\)( - \w+)? *[<>]|(EXPECT|ASSERT)_L[ET]\([^;]*[cC]lock::now\(\)|WaitForSingleObject\([^;]*, *[1-9I]")
DEADLINES = {  # of their own, and why
    "tests/support/wait.h": "the rule itself",
    "tests/control/kube/client/test_plugin.cc": "a program that hangs",
    "tests/control/sources/source_contract_test.cc": "the time that a step takes",
    "tests/dataplane/idle_worker_test.cc": "a pause in which nothing may happen",
    "tests/emulated_host/remote_host.cc": "the emulator's pause between two dials",
}


def waits_follow_one_rule(root, names):
    """Which failed wait the runner may repeat is decided in tests/support/wait.h, and nowhere else."""
    for name in names:
        if name.startswith("tests/") and pathlib.Path(name).suffix in (".cc", ".h") and name not in DEADLINES:
            text = (root / name).read_text(errors="replace")
            for found in DEADLINE.finditer(text):
                number = text.count("\n", 0, found.start()) + 1
                yield f"{name}:{number}: a deadline of its own; wait with Await or Wait of tests/support/wait.h"
    for name in DEADLINES:
        if name in names and not DEADLINE.search((root / name).read_text(errors="replace")):
            yield f"tests/repo/hygiene.py: {name} has no deadline any more"


def unproven_items_have_steps(root, names):
    """Each item of ARCHITECTURE.md's "Unproven on real Windows" ends with its steps in deploy/windows/prove.md."""
    document, walk = "ARCHITECTURE.md", "deploy/windows/prove.md"
    if document not in names or walk not in names:
        return
    steps = set(re.findall(r"^\| (\d+) \|", (root / walk).read_text(), re.MULTILINE))
    section = re.search(r"^## Unproven on real Windows\n(.*?)^## ", (root / document).read_text(), re.MULTILINE | re.DOTALL)
    items = re.split(r"^- ", section[1], flags=re.MULTILINE)[1:]
    for item in items:
        named = re.search(r"\sSteps?\s([\d, and\n]+)\.\s*$", item)
        if not named or set(re.findall(r"\d+", named[1])) - steps:
            yield f"{document}: \"{item[:60].strip()}...\" does not end with \"Step N.\", a step of {walk}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    names = files(root)
    rules = (no_registry_hosts, no_anonymous_todo, no_forbidden_folder, scripts_are_executable, ends_in_newline,
             tests_write_apart, loops_keep_what_they_walk, headers_are_included, no_lost_wake_up, documents_name_what_exists,
             unproven_items_have_steps, waits_follow_one_rule)
    found = [reason for rule in rules for reason in rule(root, names)]
    print("\n".join(found + [f"{len(names)} files, {len(found)} findings"]))
    return 1 if found or not names else 0


if __name__ == "__main__":
    sys.exit(main())
