#!/usr/bin/env python3
"""Which guards of the product no unit test notices: all of them, where mutation.py draws sixty.

Each condition is wrapped where it stands, in one build of a copied tree: WEFT_MUTANT=N deletes guard N at run time, and
WEFT_GUARD_RECORD=FILE notes which guards decided something. What decided nothing in any test is untested for certain; the others are
judged by the tests in which they decided, the mirrored test file first. A deleted guard is a condition that is false, an operand of ||
that is false, or an operand of && that is true. For Linux: files of Windows are left out.

  tests/soak/guards.py prepare [--build FOLDER]           copies, wraps, builds (the dev preset)
  tests/soak/guards.py record                             runs each test once
  tests/soak/guards.py judge [FOLDER...]                  runs what is left to judge, also after an interruption
  tests/soak/guards.py report [FOLDER...]                 the sums, and the guards of these folders that no test notices
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import mutants  # noqa: E402
import mutation  # noqa: E402

HEADER = "weft_guard.h"
MOST = 16384  # guards: bytes of a record
# WEFT_MUTANT names the guard that is deleted.
HEADER_TEXT = mutants.HEADER_TEXT + f"""
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
inline volatile char* weft_guard_record() {{
  static volatile char* const record = [] {{
    const char* const path = std::getenv("WEFT_GUARD_RECORD");
    const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
    void* const at = file < 0 ? MAP_FAILED : mmap(nullptr, {MOST}, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    return static_cast<volatile char*>(at == MAP_FAILED ? nullptr : at);
  }}();
  return record;
}}
constexpr bool weft_guard(int number, bool without, bool value) {{
  if (std::is_constant_evaluated() || value == without) return value;
  if (volatile char* const record = weft_guard_record()) record[number] = 1;
  return weft_mutant(number) ? without : value;
}}
"""


class Finder(mutants.Finder):
    """Operands by themselves, not the expression without them: so all can be wrapped, one inside another."""

    def _remove_operand(self, kind, parts, n, span):
        tokens = self.source.tokens
        at, end = tokens[parts[n][0]].start, tokens[parts[n][1] - 1].end
        text = "false" if kind.startswith("reason") else "true"
        self.found.append(mutants.Mutation(self.file, self.source.line_of(at), kind, at, end, text, (at, end), "condition"))


def guards_of(file, text):
    if not text.startswith(mutants.FIRST_LINE):
        return []

    def whole(each):  # not a piece of a template's arguments, whose brackets the finder takes for operators
        plain = re.sub(r"->|<<|>>|<=>?|>=| [<>] ", "", text[each.start:each.end])
        return plain.count("<") == plain.count(">")
    found = [each for each in Finder(file, text, True).found if each.kind != "guard negated" and whole(each)]
    return sorted(found, key=lambda each: (each.start, each.end, each.kind))


def wrapped(text, numbered):
    """The file with each of [(number, mutation)] wrapped."""
    edits = []
    for number, each in numbered:
        if each.form == "declared" and each.start == each.span[0]:
            name = re.match(r".*?(\w+)\s*=(?!=)", text[each.start:each.end], re.DOTALL)[1]
            edits.append((each.end, 0, each.start, f"; weft_guard({number}, {each.text}, static_cast<bool>({name}))"))
        else:
            edits += [(each.start, 1, -each.end, f"weft_guard({number}, {each.text}, static_cast<bool>("), (each.end, 0, -each.start, "))")]
    # From the end; at one place the innermost begins last and ends first.
    for at, _, _, new in sorted(edits, reverse=True):
        text = text[:at] + new + text[at:]
    return text.replace(mutants.FIRST_LINE, f'#include "{HEADER}"\n', 1) if edits else text


class Tree:
    """The copy, its build, and what is known of its guards, in files of its folder."""

    def __init__(self, folder):
        self.folder, self.tree = folder, os.path.join(folder, "tree")
        self.build = os.path.join(self.tree, "build/dev")

    def read(self, name):
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return {}

    def write(self, name, what):
        with open(os.path.join(self.folder, name + ".new"), "w", encoding="utf-8") as file:
            json.dump(what, file)
        os.replace(os.path.join(self.folder, name + ".new"), os.path.join(self.folder, name))

    def prepare(self):
        with open(os.path.join(mutation.ROOT, "tests/repo/layers.txt"), encoding="utf-8") as file:
            folders = mutants.product_folders(file.read())
        names = subprocess.run(["git", "-C", mutation.ROOT, "ls-files", "-z"], capture_output=True, check=True, text=True).stdout.split("\0")[:-1]
        guards = {}
        for name in names:
            source, copy = os.path.join(mutation.ROOT, name), os.path.join(self.tree, name)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            if os.path.islink(source):
                if not os.path.islink(copy):
                    os.symlink(os.readlink(source), copy)
                continue
            with open(source, "rb") as file:
                data = file.read()
            if mutants.is_product(name, folders) and not name.endswith(("_win.cc", "_win.h")):
                text = data.decode()
                numbered = list(enumerate(guards_of(name, text), len(guards) + 1))
                guards |= {number: {"file": name, "line": each.line, "kind": each.kind, "folder": mutants.folder_of(name, folders),
                                    "text": " ".join(text[each.start:each.end].split())} for number, each in numbered}
                data = wrapped(text, numbered).encode()
            mutation.write_if_other(copy, data)
            os.chmod(copy, os.stat(source).st_mode)
        mutation.write_if_other(os.path.join(self.tree, HEADER), HEADER_TEXT.encode())
        if self.read("guards.json") != {str(number): each for number, each in guards.items()}:
            for name in ("records.json", "verdicts.json"):  # of other numbers
                self.write(name, {})
        self.write("guards.json", guards)
        print(f"{len(guards)} guards")
        subprocess.run([os.path.join(mutation.ROOT, "cmake/bootstrap.sh"), "build", "test", "netns"], check=True)
        subprocess.run(["cmake", "--preset", "dev"], cwd=self.tree, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", "--preset", "dev"], cwd=self.tree, check=True)

    def tests(self):
        shown = subprocess.run(["ctest", "--test-dir", self.build, "--show-only=json-v1"], capture_output=True, check=True, text=True).stdout
        for test in json.loads(shown)["tests"]:
            properties = {each["name"]: each["value"] for each in test.get("properties", [])}
            if "repo" not in properties.get("LABELS", []) and test.get("command"):
                yield test["name"], (test["command"], properties.get("WORKING_DIRECTORY", self.build),
                                     dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", [])))

    def record(self):
        def one(item):
            name, test = item
            with tempfile.NamedTemporaryFile() as file:
                file.truncate(MOST)
                status, seconds = run(test, 120, WEFT_GUARD_RECORD=file.name)
                data = file.read()
            return name, {"ok": status == 0, "seconds": seconds, "guards": [number for number, byte in enumerate(data) if byte]}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            records = dict(pool.map(one, self.tests()))
        self.write("records.json", records)
        print("fail without a guard deleted:", *(name for name, each in records.items() if not each["ok"]))

    def judge(self, folders):
        tests, records, guards, verdicts = dict(self.tests()), self.read("records.json"), self.read("guards.json"), self.read("verdicts.json")
        deciding = collections.defaultdict(list)
        for name, each in records.items():
            for number in each["guards"] if each["ok"] else ():
                deciding[str(number)].append(name)

        def one(number):
            mirror = "".join(each.capitalize() for each in mutants.stem(guards[number]["file"]).split("_"))
            left = 60.0
            for name in sorted(deciding[number], key=lambda each: (not each.split(":")[-1].startswith(mirror), records[each]["seconds"])):
                status, seconds = run(tests[name], 10 + 5 * records[name]["seconds"], WEFT_MUTANT=number)
                left -= seconds
                if status != 0:
                    return number, name
                if left < 0:  # too many tests to try all
                    return number, None
            return number, ""
        todo = [number for number in deciding if number in guards and number not in verdicts and (not folders or guards[number]["folder"] in folders)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for number, verdict in pool.map(one, todo):
                if verdict is not None:
                    verdicts[number] = verdict
                    self.write("verdicts.json", verdicts)

    def report(self, folders):
        decided = {str(number) for each in self.read("records.json").values() for number in each["guards"]}
        verdicts, sums = self.read("verdicts.json"), collections.defaultdict(collections.Counter)
        for number, each in self.read("guards.json").items():
            verdict = ("never decides" if number not in decided else "not judged" if number not in verdicts else
                       "noticed" if verdicts[number] else "unnoticed")
            sums[each["folder"]][verdict] += 1
            if each["folder"] in folders and verdict in ("never decides", "unnoticed"):
                print(f"{number:5} {each['file']}:{each['line']} {each['kind']}, {verdict}: {each['text'][:120]}")
        for folder, counts in sorted(sums.items()):
            print(f"{folder}: {dict(counts)}")
        print(f"all: {dict(sum(sums.values(), collections.Counter()))}")


def run(test, limit, **variables):
    """(exit status, seconds)"""
    words, folder, environment = test
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="guard-", ignore_cleanup_errors=True) as scratch:
        status, _ = mutation.PROCESSES.run(words, limit, 8 << 30, cwd=folder, env={**os.environ, **environment, **variables, "TMPDIR": scratch})
    return status, time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(prog="tests/soak/guards.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("step", choices=("prepare", "record", "judge", "report"))
    parser.add_argument("folders", nargs="*", metavar="FOLDER", help="of the product, as in tests/repo/layers.txt")
    parser.add_argument("--build", default=os.path.join(mutation.ROOT, "build", "guards"), help="where the tree, its build and the results are")
    chosen = parser.parse_args()
    os.makedirs(chosen.build, exist_ok=True)
    tree = Tree(os.path.abspath(chosen.build))
    if chosen.step in ("prepare", "record"):
        getattr(tree, chosen.step)()
    else:
        getattr(tree, chosen.step)(chosen.folders)


if __name__ == "__main__":
    main()
