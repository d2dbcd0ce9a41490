#!/usr/bin/env python3
"""Alters one line of the product at a time and reports which alterations no test notices.

The mutants of a sample are compiled into one build, each behind its number (mutants.py); the environment variable WEFT_MUTANT
selects one at run time. Sixty builds become one: a mutant costs its tests, not a compilation and forty links; headers can be
mutated; several mutants run side by side; flanneld, flannelctl and programs under Wine inherit the choice. What cannot be switched,
a constant that the compiler needs, is edited, built and run alone; such constants in headers are left out, because each of them
would compile the whole tree. Constant expressions keep their value: what only a static_assert or a constexpr table evaluates is
not mutated.

The tests of a mutant are those that link its library or start a program of it, by CMake's description of the build: first the
cases of the test files that mirror the source, then the programs of the same folder, then the rest, then tests/netns. The first
test that fails twice with the mutant and passes without it ends the run. Programs are built when a mutant first needs them.
"""

import argparse
import concurrent.futures
import dataclasses
import glob
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import mutants  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
DEPS = os.environ.get("WEFT_DEPS") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weft")

# What only a started daemon among peers reaches: tests of tests/netns by the first part of their names.
NETNS = {
    "vxlan": ["wire_format.", "bad_input.frames"],
    "dataplane": ["wire_format.", "path_mtu.", "bad_input.", "forwarding.udp", "forwarding.ping"],
    "dataplane/ports": ["wire_format.", "path_mtu.", "forwarding."],
    "control": ["bad_input.", "net_conf.", "restart."],
    "control/lease": ["bad_input.lease", "churn."],
    "control/host": ["host_routes.", "lifecycle."],
    "control/sources": ["bad_input.nodes", "bad_input.lease", "churn."],
    "control/sinks": ["host_routes.", "churn.", "restart."],
    "control/admin": ["lifecycle."],
    "control/daemon": ["lifecycle.", "net_conf.", "restart."],
    "control/ledger": ["host_routes.", "lifecycle."],
    "control/node": ["lifecycle.", "net_conf.", "restart.", "host_routes.", "bad_input."],
    "control/cli": ["lifecycle.command_line_tool", "net_conf.", "host_routes.host_gw_reset"],
}


class Failure(Exception):
    pass


class Processes:
    """Children with a limit of time, all ended when we are."""

    def __init__(self):
        self.running, self.lock, self.ended = set(), threading.Lock(), False

    def run(self, words, limit, memory=None, **options):
        """(status, output); status None: it took longer than `limit` seconds."""
        words = ["prlimit", "--core=0", *([f"--as={memory}"] if memory else []), "--", *words]
        with tempfile.TemporaryFile() as output:
            with self.lock:
                if self.ended:
                    raise Failure("interrupted")
                child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                         start_new_session=True, **options)
                self.running.add(child)
            try:
                status = child.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                self._end(child)
            with self.lock:
                self.running.discard(child)
                if self.ended:
                    raise Failure("interrupted")
            output.seek(max(0, output.tell() - (8 << 20)))
            return status, output.read().decode(errors="replace")

    @staticmethod
    def _end(child):
        """The whole group, also what the program left behind; politely first, for what has namespaces to delete."""
        for number, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, None)):
            try:
                os.killpg(child.pid, number)
                child.wait(patience)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass

    def end_all(self):
        with self.lock:
            self.ended = True
            for child in self.running:
                try:
                    os.killpg(child.pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass


PROCESSES = Processes()


def git(*words, **options):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, **options)
    if done.returncode:
        raise Failure(f"git {' '.join(words)}: {done.stderr if options.get('text') else done.stderr.decode()}")
    return done.stdout


def write_if_other(path, data):
    try:
        with open(path, "rb") as file:
            if file.read() == data:
                return
    except OSError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


@dataclasses.dataclass
class Target:
    name: str
    kind: str
    folder: str
    sources: list
    needs: set
    program: str


class Build:
    """One build folder of the copied tree: its targets by CMake's own description, its tests' programs."""

    def __init__(self, tree, preset, flags=()):
        self.tree, self.preset, self.folder = tree, preset, os.path.join(tree, "build", preset)
        query = os.path.join(self.folder, ".cmake/api/v1/query/codemodel-v2")
        os.makedirs(os.path.dirname(query), exist_ok=True)
        open(query, "w").close()
        status, output = PROCESSES.run(["cmake", "--preset", preset, *flags], 600, cwd=tree, env={**os.environ, "WEFT_DEPS": DEPS})
        if status != 0:
            raise Failure(f"cmake --preset {preset}: {output[-2000:]}")
        self.targets = self._read_targets()
        self.arguments = dict(self._read_arguments())

    def _read_targets(self):
        reply = os.path.join(self.folder, ".cmake/api/v1/reply")

        def read(name):
            with open(os.path.join(reply, name), encoding="utf-8") as file:
                return json.load(file)
        index = read(os.path.basename(max(glob.glob(os.path.join(reply, "index-*.json")))))
        model = read(index["reply"]["codemodel-v2"]["jsonFile"])
        raw = {each["id"]: read(each["jsonFile"]) for each in model["configurations"][0]["targets"]}
        closures = {}

        def closure(identity):
            if identity not in closures:
                closures[identity] = set()
                for each in raw[identity].get("dependencies", []):
                    closures[identity] |= {raw[each["id"]]["name"]} | closure(each["id"])
            return closures[identity]
        targets = {}
        for identity, each in raw.items():
            artifacts = [os.path.join(self.folder, one["path"]) for one in each.get("artifacts", [])]
            targets[each["name"]] = Target(each["name"], each["type"], each["paths"]["source"],
                                           [one["path"] for one in each.get("sources", [])], closure(identity),
                                           artifacts[0] if artifacts else "")
        return targets

    def _read_arguments(self):
        """The arguments of programs that are no GoogleTest: {program's name: arguments}."""
        for path in glob.glob(os.path.join(self.folder, "tests/**/CTestTestfile.cmake"), recursive=True):
            with open(path, encoding="utf-8") as file:
                for name, words in re.findall(r'^add_test\(\[=\[(.*?)\]=\] (.*)\)$', file.read(), re.MULTILINE):
                    yield name, re.findall(r'"([^"]*)"', words)[1:]

    def libraries_of(self, file):
        """The targets of which the file is a part; a header's are those of its folder when no source has its name."""
        def having(fits):
            return [each for each in self.targets.values() if not each.folder.startswith(("tests", "bench")) and
                    any(fits(source) for source in each.sources)]
        found = having(lambda source: source == file)
        if not found and file.endswith(".h"):
            found = (having(lambda source: source == file[:-2] + ".cc") or
                     having(lambda source: source.endswith(".cc") and os.path.dirname(source) == os.path.dirname(file)))
        return {each.name for each in found}

    def tests_of(self, file):
        """The test programs that link or start a target of the file."""
        libraries = self.libraries_of(file)
        return [each for each in self.targets.values() if each.kind == "EXECUTABLE" and each.folder.startswith("tests/") and
                each.needs & libraries]


class Check:
    """A test program with a mutant: how to run it, and whether it fails."""

    def __init__(self, name, words, tree, gtest_filter=None, wine=False):
        self.name, self.words, self.tree, self.gtest_filter, self.wine = name, words, tree, gtest_filter, wine
        self.lock, self.seconds = threading.Lock(), None
        self.apart, self.known_bad = [], []

    def usual(self):
        """Measures the time without a mutant. Tests that fail then are run each in a separate process, as CTest does; those that
        fail there too are left out."""
        with self.lock:
            if self.seconds is not None:
                return
            began = time.monotonic()
            status, output = self._run(0, 900, fast=False)
            self.seconds = time.monotonic() - began
            if status != 0:
                bad = sorted(set(re.findall(r"^\[  FAILED  \] ([\w./]+)(?:,| \()", output, re.MULTILINE)))
                self.apart = [each for each in bad if self._run(0, self.limit(), only=each)[0] == 0]
                self.known_bad = [each for each in bad if each not in self.apart] if bad else ["*"]

    def caught(self, number, alone):
        """None, or (the test that fails, whether it was by time). `alone`: the mutant cannot be switched off."""
        self.usual()
        if "*" in self.known_bad:
            return None
        without = self.known_bad + self.apart
        for _ in range(3):  # a test that fails now and then catches nothing
            test = self._failing(number, without)
            if test is None:
                break
            if found := self._confirmed(number, alone, *test, without):
                return found
            if test[0] == "":
                break
            without = [*without, test[0]]
        for each in self.apart:
            test = self._failing(number, only=each)
            if test is not None and (found := self._confirmed(number, alone, each, test[1], ())):
                return found
        return None

    def _confirmed(self, number, alone, test, by_time, without):
        """What caught the mutant, if it fails again with it and passes without: the test, or the program without a test's name."""
        again = ((), test) if test else (without, None)
        if self._failing(number, *again) is None or (not alone and self._failing(0, *again) is not None):
            return None
        return (f"{self.name} {test}".strip(), by_time)

    def limit(self):
        return 30 + 5 * self.seconds

    def _failing(self, number, without=(), only=None):
        status, output = self._run(number, self.limit(), without, only)
        if status == 0:
            return None
        began, ended = (re.findall(rf"^\[ {word} \] ([\w./]+)", output, re.MULTILINE) for word in ("RUN     ", "      OK"))
        failed = re.findall(r"^\[  FAILED  \] ([\w./]+)(?:,| \()", output, re.MULTILINE)
        last = began[-1] if began and (not ended or ended[-1] != began[-1]) else ""
        return ((failed or [last])[0], status is None)

    def _run(self, number, limit, without=(), only=None, fast=True):
        words = list(self.words)
        if self.gtest_filter is not None:
            chosen = only or self.gtest_filter
            words += [f"--gtest_filter={chosen}" + ("-" + ":".join(without) if without else ""), "--gtest_color=no"]
            words += ["--gtest_fail_fast"] if fast else []
        scratch = tempfile.mkdtemp(prefix="wm-")
        environment = {**os.environ, "WEFT_DEPS": DEPS, "WEFT_MUTANT": str(number), "TMPDIR": scratch, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            return PROCESSES.run(words, limit, None if self.wine else 8 << 30, cwd=self.tree, env=environment)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


class Sample:
    """The drawn mutants, their tree, and the verdicts."""

    def __init__(self, chosen):
        self.chosen = chosen
        self.commit = git("rev-parse", chosen.commit, text=True).strip()
        self.seed = chosen.seed or self.commit[:8]
        self.texts = {}
        with tarfile.open(fileobj=io.BytesIO(git("archive", self.commit))) as archive:
            self.archive = {each.name: (archive.extractfile(each).read() if each.isfile() else None, each) for each in archive}
        folders = mutants.product_folders(self.archive["tests/repo/layers.txt"][0].decode())
        self.folders = folders
        found = []
        for name, (data, _) in sorted(self.archive.items()):
            if data is not None and mutants.is_product(name, folders):
                if chosen.only and not (name.startswith(chosen.only.rstrip("/") + "/") or name == chosen.only):
                    continue
                self.texts[name] = data.decode()
                found += mutants.find(name, self.texts[name], chosen.guards)
        self.by_key = {each.key: each for each in found}
        self.drawing = mutants.Drawing(self.seed, folders, found)
        self.mutants = dict(enumerate(self.drawing.draw(chosen.count), 1))
        self.results, self.rejected = {}, []
        self.tree = os.path.join(os.path.abspath(chosen.build), "tree")
        self.log = os.path.join(ROOT, "build", "logs", f"mutation-{self.seed}{'-guards' if chosen.guards else ''}"
                                + (f"-{chosen.only.strip('/').replace('/', '_')}" if chosen.only else "") + ".json")
        self.identity = {"commit": self.commit, "seed": self.seed, "count": chosen.count, "guards": chosen.guards, "only": chosen.only}
        self.builds, self.checks, self.alone = {}, {}, None
        self.building, self.lock = threading.RLock(), threading.Lock()
        self.making = {"dev": threading.Lock(), "windows": threading.Lock()}

    # --- what was drawn

    def describe(self, number):
        each = self.mutants[number]
        before, after = mutants.shown(self.texts[each.file], each)
        return f"{number:3} {each.file}:{each.line} {before} -> {after}"

    def resume(self):
        try:
            with open(self.log, encoding="utf-8") as file:
                before = json.load(file)
        except OSError:
            return
        if {key: before.get(key) for key in self.identity} != self.identity:
            raise Failure(f"{self.log} is of another sample: {({key: before.get(key) for key in self.identity})}")
        self.mutants = {each["number"]: self.by_key[each["key"]] for each in before["mutants"]}
        self.rejected = before["rejected"]
        used = {each.key for each in self.mutants.values()} | set(self.rejected)
        for queue in self.drawing.queues.values():
            queue[:] = [pair for pair in queue if pair[1].key not in used]
        self.results = {each["number"]: each["result"] for each in before["mutants"]
                        if each.get("result") and each["result"]["verdict"] != "not run"}

    def save(self):
        rows = []
        for number, each in sorted(self.mutants.items()):
            before, after = mutants.shown(self.texts[each.file], each)
            rows.append({"number": number, "key": each.key, "file": each.file, "line": each.line, "kind": each.kind, "before": before,
                         "after": after, "diff": mutants.diff(self.texts[each.file], each), "result": self.results.get(number)})
        os.makedirs(os.path.dirname(self.log), exist_ok=True)
        with open(self.log + ".new", "w", encoding="utf-8") as file:
            json.dump({**self.identity, "rejected": self.rejected, "mutants": rows}, file, indent=1)
        os.replace(self.log + ".new", self.log)

    # --- the tree and its builds

    def write_tree(self):
        for name, (data, member) in self.archive.items():
            path = os.path.join(self.tree, name)
            if member.issym():
                os.makedirs(os.path.dirname(path), exist_ok=True)
                if not os.path.islink(path):
                    os.symlink(member.linkname, path)
            elif data is not None and name not in self.texts:
                write_if_other(path, data)
                os.chmod(path, member.mode)
        for folder, folders, files in os.walk(self.tree):
            inside = os.path.relpath(folder, self.tree)
            if inside == ".":
                folders[:] = [each for each in folders if each != "build"]
            for each in files:
                name = os.path.normpath(os.path.join(inside, each))
                if name not in self.archive and name != mutants.HEADER:
                    os.unlink(os.path.join(folder, each))
        write_if_other(os.path.join(self.tree, mutants.HEADER), mutants.HEADER_TEXT.encode())
        for file in self.texts:
            self.write_source(file)

    def write_source(self, file):
        numbered = {number: each for number, each in self.mutants.items()
                    if each.file == file and (each.span is not None or number == self.alone)}
        write_if_other(os.path.join(self.tree, file), mutants.switched(self.texts[file], numbered).encode())

    def build_of(self, preset):
        with self.building:
            if preset not in self.builds:
                flags = ["-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=gold"] if preset == "dev" and shutil.which("ld.gold") else []
                self.builds[preset] = Build(self.tree, preset, flags)
            return self.builds[preset]

    def preset_of(self, mutation):
        """The build that has the file: Linux's, else Windows', else None."""
        if self.build_of("dev").libraries_of(mutation.file) and not mutation.file.endswith(("_win.h", "_win.cc")):
            return "dev"
        if os.path.isdir(os.path.join(DEPS, "windows")) and os.path.isdir(os.path.join(DEPS, "wineprefix")) and \
                self.build_of("windows").libraries_of(mutation.file):
            return "windows"
        return None

    def make(self, preset, targets):
        """Builds; the numbers of mutants that do not compile are used again."""
        while targets:
            words = ["ninja", "-C", self.builds[preset].folder, "-k", "0", "-j", str(self.chosen.jobs), *targets]
            with self.making[preset]:
                status, output = PROCESSES.run(words, None, env={**os.environ, "WEFT_DEPS": DEPS})
            if status == 0:
                return
            with self.making["dev"], self.making["windows"]:  # no source changes while it is compiled
                if not self.reject(output):
                    raise Failure(f"the build of {' '.join(targets)} failed:\n{output[-4000:]}")

    def reject(self, output):
        """Replaces the mutants at whose lines the compiler found errors; how many."""
        places = {(os.path.relpath(file, self.tree), int(line))
                  for file, line in re.findall(r"^(/[^\s:]+):(\d+):\d+: (?:fatal )?error: ", output, re.MULTILINE)}
        guilty = set()
        for file, line in places:
            near = [(min(abs(line - at) for at in self.lines_of(each)), number) for number, each in self.mutants.items()
                    if each.file == file and number not in self.results and (each.span is not None or number == self.alone)]
            if near and min(near)[0] <= 2:
                guilty.add(min(near)[1])
        for number in guilty:
            old = self.mutants[number]
            self.rejected.append(old.key)
            new = self.drawing.one_of(mutants.folder_of(old.file, self.folders), self.mutants.values())
            if new is None:
                del self.mutants[number]
            else:
                self.mutants[number] = new
                self.write_source(new.file)
            self.write_source(old.file)
            print(f"{number:3} {old.file}:{old.line} {old.kind}: does not compile, drawn again", flush=True)
        return len(guilty)

    def lines_of(self, mutation):
        source = self.texts[mutation.file]
        a, b = mutants.extent(mutation)
        return range(source.count("\n", 0, a) + 1, source.count("\n", 0, b) + 2)

    def prepare(self):
        """Compiles the libraries with mutants, so that those that do not compile are known before anything runs."""
        self.write_tree()
        while True:
            libraries = {}
            for number, each in self.mutants.items():
                if number not in self.results and each.span is not None and (preset := self.preset_of(each)):
                    libraries.setdefault(preset, set()).update(self.builds[preset].libraries_of(each.file))
            before = len(self.rejected)
            for preset, names in sorted(libraries.items()):
                self.make(preset, sorted(names))
            if len(self.rejected) == before:
                return

    # --- the tests of a mutant

    def check(self, preset, target, gtest_filter="*"):
        key = (preset, target.name, gtest_filter)
        with self.lock:
            if key not in self.checks:
                build = self.builds[preset]
                wine = preset == "windows"
                words = ([os.path.join(self.tree, "tests/wine/run.sh")] if wine else []) + [target.program]
                if target.name in build.arguments:
                    self.checks[key] = Check(target.name, words + build.arguments[target.name], self.tree, None, wine)
                else:
                    self.checks[key] = Check(target.name, words, self.tree, gtest_filter, wine)
            return self.checks[key]

    def mirrored(self, file, target):
        """A filter for the cases of the test files that are named like the source, or None."""
        stem = mutants.stem(file)
        suites = set()
        for source in target.sources:
            name = os.path.basename(source)
            if os.path.dirname(source).startswith("tests/" + os.path.dirname(file)) and name.endswith("_test.cc") and (
                    name.startswith(stem + "_")):
                with open(os.path.join(self.tree, source), encoding="utf-8") as text:
                    suites |= set(re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),", text.read(), re.MULTILINE))
        return ":".join(f"{each}.*:*/{each}.*:{each}/*:*/{each}/*" for each in sorted(suites)) or None

    def stages(self, mutation, preset):
        """[(what to build, checks)], the likeliest to catch first."""
        tests = sorted(self.builds[preset].tests_of(mutation.file), key=lambda each: each.name)
        folder = "tests/" + os.path.dirname(mutation.file)

        def distance(target):
            return -len(os.path.commonprefix([target.folder + "/", folder + "/"]).rsplit("/", 1)[0])
        near = [each for each in tests if each.folder == folder]
        far = sorted((each for each in tests if each.folder != folder), key=distance)
        first = [(each, text) for each in near + far if (text := self.mirrored(mutation.file, each))]
        for each, text in first:
            yield [each.name], [self.check(preset, each, text)]
        for group in (near, far):
            if group:
                yield [each.name for each in group], [self.check(preset, each) for each in group]
        names = self.netns_of(mutation) if preset == "dev" and self.chosen.netns else []
        if names:
            yield ["flanneld", "flannelctl"], names

    def netns_of(self, mutation):
        parts = NETNS.get(mutants.folder_of(mutation.file, self.folders), [])
        with self.lock:
            if not hasattr(self, "netns_names"):
                self.netns_names = PROCESSES.run([os.path.join(self.tree, "tests/netns/run.sh"), "--list"], 60)[1].split()
            chosen = [each for each in self.netns_names if any(each.startswith(part) for part in parts)]
            for each in chosen:
                if each not in self.checks:
                    words = [os.path.join(self.tree, "tests/netns/run.sh"), each]
                    self.checks[each] = Check("netns " + each, words, self.tree)
            return [self.checks[each] for each in chosen]

    def judge(self, number):
        began = time.monotonic()
        while True:
            mutation = self.mutants.get(number)
            if mutation is None:
                return
            verdict, by = self.verdict(number, mutation)
            if self.mutants.get(number) is mutation:
                break  # else it was replaced: a header that some tests could not compile
        result = {"verdict": verdict, "by": by, "seconds": round(time.monotonic() - began, 1)}
        with self.lock:
            self.results[number] = result
            self.save()
            words = {"caught": f"caught by {by}", "timeout": f"timeout=caught by {by}", "survived": "SURVIVED",
                     "not run": f"not run: {by}"}
            print(f"{self.describe(number)}: {words[verdict]} ({result['seconds']:.0f} s)", flush=True)

    def verdict(self, number, mutation):
        with self.building:
            preset = self.preset_of(mutation)
        if preset is None:
            return "not run", "for Windows; run: cmake/bootstrap.sh windows"
        checked = 0
        for targets, checks in self.stages(mutation, preset):
            self.make(preset, targets)
            if self.mutants.get(number) is not mutation:
                return "not run", "replaced"
            for check in checks:
                checked += 1
                caught = check.caught(0 if mutation.span is None else number, mutation.span is None)
                if caught:
                    return ("timeout" if caught[1] else "caught"), caught[0]
        return ("survived", "") if checked else ("not run", "no test links it")

    def run(self):
        waiting = [number for number in sorted(self.mutants) if number not in self.results]
        # Windows last: its base is compiled file by file, and Linux's verdicts need not wait for it.
        side_by_side = sorted((number for number in waiting if self.mutants[number].span is not None),
                              key=lambda number: (self.preset_of(self.mutants[number]) == "windows", number))
        with concurrent.futures.ThreadPoolExecutor(self.chosen.jobs) as pool:
            tasks = [pool.submit(self.judge, number) for number in side_by_side]
            try:
                for task in concurrent.futures.as_completed(tasks):
                    task.result()
            except BaseException:
                PROCESSES.end_all()
                for task in tasks:
                    task.cancel()
                raise
        for number in waiting:
            if number in self.mutants and self.mutants[number].span is None:
                self.alone = number
                file = self.mutants[number].file
                self.write_source(file)
                self.judge(number)
                self.alone = None
                self.write_source(file)

    def report(self):
        """Prints the survivors; whether the measurement is complete and few enough survived."""
        ran = [number for number, each in self.results.items() if each["verdict"] != "not run"]
        survived = sorted(number for number in ran if self.results[number]["verdict"] == "survived")
        bad = sorted({f"{each.name} {one}" for each in self.checks.values() for one in each.known_bad})
        for each in bad:
            print(f"fails without a mutant, left out: {each}")
        for number in survived:
            each = self.mutants[number]
            print(f"\nsurvivor {number}: {each.file}:{each.line}, {each.kind}\n{mutants.diff(self.texts[each.file], each)}")
        print(f"{len(survived)} of {len(ran)} survived"
              + (f", {len(self.results) - len(ran)} could not run" if len(ran) != len(self.results) else "")
              + (f", {len(self.rejected)} did not compile and were drawn again" if self.rejected else "")
              + f"; seed {self.seed}, commit {self.commit[:8]}; {self.log}")
        return bool(ran) and len(self.results) == len(self.mutants) and len(survived) <= self.chosen.allow


def interrupted(number, _):
    raise KeyboardInterrupt(signal.Signals(number).name)


def main():
    parser = argparse.ArgumentParser(prog="tests/soak/mutation.py", description=__doc__.split("\n")[0])
    parser.add_argument("--seed", help="any word; the first eight hex digits of the commit")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--short", action="store_true", help="six of them")
    parser.add_argument("--guards", action="store_true",
                        help="only conditions, or parts of them, whose body refuses, drops, returns an error, withholds or skips")
    parser.add_argument("--allow", type=int, default=6, help="more survivors fail (6)")
    parser.add_argument("--only", metavar="FOLDER", help="of this folder or file alone")
    parser.add_argument("--commit", default="HEAD", help="what to measure; changes that are not committed are not seen")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants side by side")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "mutation"), help="where the mutated tree and its builds are")
    parser.add_argument("--no-netns", dest="netns", action="store_false", help="without tests/netns")
    parser.add_argument("--resume", action="store_true", help="keeps the verdicts of the run that was interrupted")
    parser.add_argument("--list", action="store_true", help="only what would be drawn")
    chosen = parser.parse_args()
    if chosen.short:
        chosen.count = 6

    signal.signal(signal.SIGTERM, interrupted)
    sample = Sample(chosen)
    if chosen.list:
        for number in sample.mutants:
            print(sample.describe(number))
        return 0
    if chosen.resume:
        sample.resume()
    print(f"{len(sample.mutants)} mutants, seed {sample.seed}, commit {sample.commit[:8]}", flush=True)
    began = time.monotonic()
    try:
        sample.prepare()
        print(f"compiled in {time.monotonic() - began:.0f} s", flush=True)
        sample.run()
    finally:
        sample.save()
    good = sample.report()
    # One measurement, not sixty tests.
    print("ok mutation\n1 passed, 0 failed" if good else "not ok mutation: see above\n0 passed, 1 failed")
    return 0 if good else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"not ok mutation: {failure}\n0 passed, 1 failed")
        sys.exit(1)
    except KeyboardInterrupt as reason:
        PROCESSES.end_all()
        print(f"tests/soak/mutation: interrupted {reason}; --resume continues", file=sys.stderr)
        sys.exit(130)
