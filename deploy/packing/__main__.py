"""Packs the programs of two build folders; called by deploy/package.sh."""

import argparse
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from . import archive, components, image, sbom

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
CACHE = os.environ.get("WEFT_DEPS") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weft")
TEXTS = ("README.md", "REFERENCE.md", "CHANGELOG.md")
MANUALS = ("control/daemon/flanneld.8", "control/cli/flannelctl.8")
SHIPPED = re.compile(r"deploy/(rbac\.yaml|[a-z-]+\.json|(windows|linux|chart|kustomize)/.*)")
# The shared objects of the Linux image, next to those that the programs load: what glibc loads by itself for names and threads' ends.
LOADED_LATER = ("libnss_files.so.2", "libnss_dns.so.2", "libgcc_s.so.1")
HOSTS = b"hosts: files dns\n"  # /etc/nsswitch.conf


class Refused(Exception):
    pass


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def read(path):
    with open(path, "rb") as file:
        return file.read()


def cache_value(build, key):
    try:
        found = re.search(rf"^{key}:[A-Z]+=(.*)$", read(os.path.join(build, "CMakeCache.txt")).decode(), re.M)
    except FileNotFoundError:
        found = None
    if not found:
        raise Refused(f"{build}: not a build folder; run deploy/package.sh without --no-build, or name one with --linux, --windows")
    return found.group(1)


def shipped():
    """deploy's files, as git has them; without git (a release's sources), as they are there."""
    listed = git("ls-files", "-co", "--exclude-standard", "deploy")
    names = listed.splitlines() if listed is not None else [
        os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "deploy", "**"), recursive=True) if os.path.isfile(path)]
    return [archive.File(name, read(os.path.join(ROOT, name))) for name in sorted(names) if SHIPPED.fullmatch(name)]


def texts(notices):
    return [archive.File("LICENSE.txt", read(os.path.join(ROOT, "LICENSE"))), archive.File("THIRD-PARTY-NOTICES.txt", notices.encode()),
            *(archive.File(each, read(os.path.join(ROOT, each))) for each in TEXTS)]


def windows_programs(build):
    return [archive.File(f"{each}.exe", read(os.path.join(build, "bin", f"{each}.exe")), executable=True) for each in components.PROGRAMS]


def installed(build):
    """What `cmake --install` makes, stripped."""
    with tempfile.TemporaryDirectory() as stage:
        subprocess.run(["cmake", "--install", build, "--prefix", stage, "--strip"], check=True, stdout=subprocess.DEVNULL)
        found = []
        for folder, _, names in os.walk(stage):
            for name in names:
                path = os.path.join(folder, name)
                relative = os.path.relpath(path, stage)
                found.append(archive.File(relative, read(path), executable=relative.startswith("bin/")))
        return found


def linux_root(programs):
    """The image's files, and the Debian packages that they come from."""
    files = [archive.File(f"opt/{each.name}", each.data, executable=True) for each in programs if each.name.startswith("bin/")]
    files += [archive.File("etc/nsswitch.conf", HOSTS), archive.File("etc/passwd", b"root:x:0:0:root:/:/sbin/nologin\n"),
              archive.File("etc/group", b"root:x:0:\n")]
    libraries = set()
    with tempfile.TemporaryDirectory() as stage:
        for each in (each for each in files if each.name.startswith("opt/bin/")):
            path = os.path.join(stage, os.path.basename(each.name))
            with open(path, "wb") as file:
                file.write(each.data)
            os.chmod(path, 0o755)
            listed = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
            libraries.update(re.findall(r"(/\S+) \(0x", listed))
    libraries.update(path for name in LOADED_LATER for path in glob.glob(f"/lib/x86_64-linux-gnu/{name}"))
    files += [archive.File(path.lstrip("/"), read(path), executable=True) for path in sorted(libraries)]
    return files, [components.debian(each) for each in sorted(components.debian_packages(map(os.path.realpath, libraries)))]


def tree(folder, files):
    for each in files:
        path = os.path.join(folder, each.name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(each.data)


def chart(version):
    inside = [archive.File(each.name.removeprefix("deploy/chart/"), each.data) for each in shipped() if each.name.startswith("deploy/chart/weft/")]
    said = next((re.search(rb"^version: (\S+)$", each.data, re.M) for each in inside if each.name == "weft/Chart.yaml"), None)
    if not said or said.group(1).decode() != version:
        raise Refused(f"deploy/chart/weft/Chart.yaml has another version than CMakeLists.txt, which has {version}: set `version` and `appVersion`")
    return inside


def pack(builds, say):
    """`builds`: {platform: its build folder}."""
    versions = {platform: cache_value(build, "CMAKE_PROJECT_VERSION") for platform, build in builds.items()}
    if len(set(versions.values())) != 1:
        raise Refused("; ".join(f"{builds[each]} is version {versions[each]}" for each in builds) + ": build both anew")
    version = versions.popitem()[1]
    commit = git("rev-parse", "HEAD") or "unknown"
    when = os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct")
    if not when or not when.isdigit():
        raise Refused("no time for the packages' entries: not a git clone, and SOURCE_DATE_EPOCH is not a number of seconds; set it")
    epoch = int(when)
    if git("status", "--porcelain", "-uno"):
        say(f"note: the tree differs from commit {commit[:12]}")

    artifacts, layouts = [], {}  # (name, bytes, components); {name: files}
    for platform, build in builds.items():
        say(f"{platform}: components")
        made_of = components.of_build(build, ".exe" if platform == "windows" else "", CACHE)
        documents = texts(components.notices(made_of))
        name = f"weft-{version}-{platform}-amd64"
        if platform == "windows":
            say("windows: zip")
            programs = windows_programs(build)
            manuals = [archive.File(f"manual/{os.path.basename(each)}", read(os.path.join(ROOT, each))) for each in MANUALS]
            artifacts.append((f"{name}.zip", archive.zip_bytes(archive.below(name, [*programs, *documents, *manuals, *shipped()]), epoch), made_of))
            say("windows: image")
            layout = image.windows("localhost/weft-windows", version, commit, epoch, [*programs, *documents[:2]])
        else:
            say("linux: tar.gz")
            programs = installed(build)
            artifacts.append((f"{name}.tar.gz", archive.gzipped(archive.tar_bytes(archive.below(name, [*programs, *documents[:2], *shipped()]), epoch)),
                              made_of))
            say("linux: image")
            root, loaded = linux_root(programs)
            made_of = sorted({each.name: each for each in [*made_of, *loaded]}.values(), key=lambda each: each.name)
            root += archive.below("usr/share/doc/weft", texts(components.notices(made_of))[:2])
            layout = image.linux("localhost/weft-linux", version, commit, epoch, root)
        layouts[f"{name}-oci"] = layout
        artifacts.append((f"{name}-oci.tar", archive.tar_bytes(layout, epoch), made_of))

    say("chart, SBOM, checksums")
    artifacts.append((f"weft-{version}.tgz", archive.gzipped(archive.tar_bytes(chart(version), epoch)), []))
    files = [archive.File(name, data) for name, data, _ in artifacts]
    files.append(archive.File(f"weft-{version}.spdx.json", sbom.document(version, epoch, commit, artifacts)))
    sums = "".join(f"{hashlib.sha256(each.data).hexdigest()}  {each.name}\n" for each in sorted(files, key=lambda each: each.name))
    files.append(archive.File("SHA256SUMS", sums.encode()))
    for folder, inside in layouts.items():
        files += archive.below(folder, inside)
    return files


def replace(output, files):
    """In one step, so that nobody takes half of them; never in place of something else's folder."""
    if os.path.lexists(output) and not os.path.exists(os.path.join(output, "SHA256SUMS")) and (not os.path.isdir(output) or os.listdir(output)):
        raise Refused(f"{output} holds something else than packages (no SHA256SUMS in it); empty it, or name another folder with --output")
    os.makedirs(os.path.dirname(output), exist_ok=True)
    fresh = tempfile.mkdtemp(prefix=os.path.basename(output) + ".", dir=os.path.dirname(output))
    os.chmod(fresh, 0o755)
    try:
        tree(fresh, files)
        if os.path.lexists(output):
            shutil.rmtree(output)
        os.rename(fresh, output)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(prog="deploy/package.sh")
    parser.add_argument("--output", required=True)
    parser.add_argument("--windows")
    parser.add_argument("--linux")
    arguments = parser.parse_args()
    builds = {each: getattr(arguments, each) for each in ("windows", "linux") if getattr(arguments, each)}
    began = time.monotonic()
    try:
        files = pack(builds, lambda text: print(f"[{time.monotonic() - began:4.0f}s] {text}", flush=True))
        replace(os.path.abspath(arguments.output), files)
    except (Refused, components.Unknown) as reason:
        sys.exit(f"deploy/package.sh: {reason}")
    except subprocess.CalledProcessError as failure:
        sys.exit(f"deploy/package.sh: {' '.join(map(str, failure.cmd[:6]))}: exit {failure.returncode}: {str(failure.stderr or '').strip()[-500:]}")
    except FileNotFoundError as failure:
        sys.exit(f"deploy/package.sh: {failure.filename} is missing; run it without --no-build")
    for each in sorted((each for each in files if "/" not in each.name), key=lambda each: each.name):
        print(f"{len(each.data):12,}  {os.path.join(arguments.output, each.name)}")


main()
