"""What the programs of a build folder are made of, as the build itself recorded it: each library whose header was compiled in or that
was linked, with version, licence and how. Debian's packages answer for what is theirs, cmake/bootstrap.sh for what it built from source."""

import os
import re
import subprocess

PROGRAMS = ("flanneld", "flannelctl")
# Below the include and lib folders of the cache: what was built from which source package.
FROM_SOURCE = {"absl": "abseil", "openssl": "openssl", "re2": "re2", "simdjson": "simdjson", "yaml-cpp": "yaml-cpp",
               "crypto": "openssl", "ssl": "openssl"}


class Unknown(Exception):
    pass


class Component:
    """`notice`: its licence text; `source`: the Debian source package it was built from."""

    def __init__(self, name, version, source, notice):
        self.name, self.version, self.source, self.notice = name, version, source, notice


def _output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def used_files(build, suffix):
    """Headers and static libraries outside the tree and the build folder."""
    objects = set()
    for program in PROGRAMS:
        objects.update(_output("ninja", "-C", build, "-t", "inputs", f"bin/{program}{suffix}").splitlines())
    found, keep = set(), False
    for line in _output("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            keep = line.split(":")[0] in objects
        elif keep and line:
            found.add(os.path.join(build, line.strip()))
    linked = {each for each in objects if os.path.isabs(each) and each.endswith((".a", ".so"))}
    tree = os.path.realpath(os.path.join(build, "..", ".."))
    return sorted(each for each in map(os.path.realpath, found | linked)
                  if not each.startswith((tree + "/", os.path.realpath(build) + "/")))


def _from_source(path, cache):
    """The source package of a file in the cache, None elsewhere."""
    parts = os.path.relpath(path, os.path.realpath(os.path.join(cache, "store"))).split("/")
    if parts[0] == "..":
        return None
    stem = re.sub(r"^lib|\.(a|h)$", "", parts[2]) if len(parts) > 2 else ""
    name = FROM_SOURCE.get(stem.split("_")[0])
    if not name:
        raise Unknown(f"{path}: which library is that? Add it to FROM_SOURCE in deploy/packing/components.py")
    return name


def debian_packages(paths):
    """The packages that own these files; /lib is /usr/lib, under which dpkg may know a file by either name."""
    owners, unknown = {}, set(paths)
    for known_as in (lambda path: path, lambda path: path.removeprefix("/usr")):
        names = {known_as(path): path for path in unknown}
        done = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, check=False)
        for line in done.stdout.splitlines():
            packages, _, path = line.rpartition(": ")
            if path in names and not line.startswith("diversion"):
                owners[names[path]] = {each.split(":")[0].strip() for each in packages.split(", ")}
        unknown -= set(owners)
        if not unknown:
            break
    if unknown:
        raise Unknown(f"{sorted(unknown)[0]}: used by the programs, but no Debian package owns it, so its licence is not known")
    return set().union(*owners.values()) if owners else set()


def debian(package):
    # Of two architectures' builds of one package the first serves: the version is the same.
    name, version, source = _output("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${source:Package} ${source:Version}\n",
                                    package).splitlines()[0].split("\t")
    with open(f"/usr/share/doc/{name}/copyright", encoding="utf-8", errors="replace") as file:
        return Component(name, version, source, file.read())


def _built(name, cache):
    folder = os.path.join(cache, "notices", name)
    try:
        with open(os.path.join(folder, "copyright"), encoding="utf-8", errors="replace") as notice, \
                open(os.path.join(folder, "version"), encoding="utf-8") as version:
            version = version.read().strip()
            return Component(name, version, f"{name} {version}", notice.read())
    except FileNotFoundError:
        raise Unknown(f"{folder}: no licence of {name}; run: cmake/bootstrap.sh package") from None


def of_build(build, suffix, cache):
    """Sorted by name."""
    build = os.path.abspath(build)
    sources, elsewhere = set(), []
    for path in used_files(build, suffix):
        name = _from_source(path, cache)
        sources.add(name) if name else elsewhere.append(path)
    if not sources:
        raise Unknown(f"{build}: no record of what bin/flanneld{suffix} was compiled from; build it there with Ninja")
    return sorted([*(_built(name, cache) for name in sources), *(debian(each) for each in debian_packages(elsewhere))],
                  key=lambda each: each.name)


def notices(components):
    """One text, a licence that several share once."""
    rule = "=" * 100
    shared = {}
    for each in components:
        shared.setdefault(each.notice, []).append(each)
    parts = ["weft is licensed under the Apache License 2.0 (see LICENSE). It contains parts of the following, linked statically or\n"
             "compiled in from their headers, under the licences below.\n"]
    for notice, users in shared.items():
        names = "\n".join(f"{each.name} {each.version} (source package {each.source})" for each in users)
        parts.append(f"{rule}\n{names}\n{rule}\n\n{notice.strip()}\n")
    # Debian's copyright files refer to these for the licences that many packages have.
    for path in sorted(set(re.findall(r"/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]", "".join(shared)))):
        with open(path, encoding="utf-8", errors="replace") as file:
            parts.append(f"{rule}\n{path}\n{rule}\n\n{file.read().strip()}\n")
    return "\n".join(parts)
