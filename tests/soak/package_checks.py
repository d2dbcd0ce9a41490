"""What is in the packages: package_checks.py DIST SECOND-DIST LINUX-BUILD WINDOWS-BUILD
[NAME...]. Run by tests/soak/package.sh."""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import traceback
import zipfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
CACHE = os.environ.get("WEFT_DEPS") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weft")
DIST, SECOND, LINUX, WINDOWS = (os.path.realpath(each) for each in sys.argv[1:5])
with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as lists:
    VERSION = re.search(r"project\(weft VERSION (\S+)", lists.read()).group(1)
READERS = os.path.join(CACHE, "python-readers")
sys.path.append(READERS)
import pefile  # noqa: E402
PLATFORMS = ("windows", "linux")
LIMIT = 10 << 20  # bytes of flanneld.exe
LIBRARIES = {"both": ("abseil", "boost1.81", "nlohmann-json3", "spdlog", "fmtlib", "cli11", "simdjson", "protozero", "yaml-cpp", "re2", "openssl"),
             "windows": ("gcc-mingw-w64", "mingw-w64"), "linux": ("gcc-12", "libmnl")}
SYSTEM_DLLS = {"advapi32", "crypt32", "dbghelp", "kernel32", "msvcrt", "mswsock", "ole32", "oleaut32", "shell32", "user32", "ws2_32",
               "iphlpapi", "bcrypt", "secur32", "userenv"}


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def expect_equal(found, wanted, what):
    expect(found == wanted, f"{what}: {found!r} instead of {wanted!r}")


def run(*words, check=True, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, **options)
    expect(not check or done.returncode == 0, f"{' '.join(words)}: exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return done


def read(*parts):
    with open(os.path.join(*parts), "rb") as file:
        return file.read()


def named(platform, rest=""):
    return f"weft-{VERSION}-{platform}-amd64{rest}"


def zip_files():
    with zipfile.ZipFile(os.path.join(DIST, named("windows", ".zip"))) as archive:
        return {each.filename.removeprefix(named("windows") + "/"): archive.read(each) for each in archive.infolist()}


def tar_files():
    with tarfile.open(os.path.join(DIST, named("linux", ".tar.gz"))) as archive:
        return {each.name.removeprefix(named("linux") + "/"): archive.extractfile(each).read() for each in archive if each.isfile()}


def program(name):
    return pefile.PE(data=zip_files()[f"{name}.exe"])


# ---- The tests

def test_same_bytes_twice():
    done = run("diff", "-rq", DIST, SECOND, check=False)
    expect_equal(done.stdout, "", "differences")


def test_checksums():
    sums = read(DIST, "SHA256SUMS").decode()
    listed = {line.split("  ")[1] for line in sums.splitlines()}
    there = {each for each in os.listdir(DIST) if os.path.isfile(os.path.join(DIST, each))} - {"SHA256SUMS"}
    expect_equal(listed, there, "files in SHA256SUMS")
    expect_equal(there, {named("windows", ".zip"), named("linux", ".tar.gz"), named("windows", "-oci.tar"), named("linux", "-oci.tar"),
                         f"weft-{VERSION}.tgz", f"weft-{VERSION}.spdx.json"}, "files")
    run("sha256sum", "-c", "--strict", "SHA256SUMS", cwd=DIST)


def test_zip():
    files = zip_files()
    for name in ("flanneld.exe", "flannelctl.exe", "LICENSE.txt", "THIRD-PARTY-NOTICES.txt", "README.md", "REFERENCE.md", "manual/flanneld.8",
                 "deploy/rbac.yaml", "deploy/net-conf.json", "deploy/windows/README.md", "deploy/windows/flannel-windows.yaml",
                 "deploy/kustomize/kustomization.yaml", "deploy/chart/weft/Chart.yaml"):
        expect(files.get(name), f"no {name}")
    stray = [name for name in files if name.endswith((".sh", ".py")) or name.startswith("/") or ".." in name]
    expect_equal(stray, [], "what belongs to the build")
    with zipfile.ZipFile(os.path.join(DIST, named("windows", ".zip"))) as archive:
        expect_equal({each.filename.split("/")[0] for each in archive.infolist()}, {named("windows")}, "folders")


def test_tar():
    files = tar_files()
    for name in ("bin/flanneld", "bin/flannelctl", "share/man/man8/flanneld.8", "share/bash-completion/completions/flannelctl", "LICENSE.txt",
                 "THIRD-PARTY-NOTICES.txt", "share/doc/weft/README.md", "deploy/linux/flannel.yaml"):
        expect(files.get(name), f"no {name}")
    with tarfile.open(os.path.join(DIST, named("linux", ".tar.gz"))) as archive:
        odd = [each.name for each in archive if (each.uid, each.gid) != (0, 0) or each.mode not in (0o644, 0o755)
               or (each.mode == 0o755) != (each.isdir() or "/bin/" in each.name)]
    expect_equal(odd, [], "owners and modes")


def test_size():
    size = len(zip_files()["flanneld.exe"])
    expect(size < LIMIT, f"flanneld.exe has {size:,} bytes; {LIMIT:,} are promised")


def test_version_resource():
    for name in ("flanneld", "flannelctl"):
        found = program(name)
        strings = {key.decode(): value.decode() for table in found.FileInfo[0] if table.Key == b"StringFileInfo"
                   for each in table.StringTable for key, value in each.entries.items()}
        expect_equal({key: strings.get(key) for key in ("FileVersion", "ProductVersion", "ProductName", "OriginalFilename")},
                     {"FileVersion": VERSION, "ProductVersion": VERSION, "ProductName": "weft", "OriginalFilename": f"{name}.exe"}, name)
        fixed = found.VS_FIXEDFILEINFO[0]
        numbers = [fixed.FileVersionMS >> 16, fixed.FileVersionMS & 0xFFFF, fixed.FileVersionLS >> 16]
        expect_equal(numbers, [int(each) for each in VERSION.split(".")], f"{name}: numbers")
        expect_equal(found.FILE_HEADER.TimeDateStamp, 0, f"{name}: time")
        expect(found.DIRECTORY_ENTRY_IMPORT, f"{name} imports nothing")
        foreign = {each.dll.decode().lower().removesuffix(".dll") for each in found.DIRECTORY_ENTRY_IMPORT} - SYSTEM_DLLS
        expect_equal(foreign, set(), f"{name}: DLLs that Windows does not have")


def test_manifest():
    for name in ("flanneld", "flannelctl"):
        found = program(name)
        texts = [found.get_data(leaf.data.struct.OffsetToData, leaf.data.struct.Size).decode()
                 for kind in found.DIRECTORY_ENTRY_RESOURCE.entries if kind.id == pefile.RESOURCE_TYPE["RT_MANIFEST"]
                 for each in kind.directory.entries for leaf in each.directory.entries]
        expect_equal(len(texts), 1, f"{name}: manifests")
        for words in (">UTF-8</activeCodePage>", ">true</longPathAware>", 'level="asInvoker"', "{8e0f7a12-bfb3-4fe8-b9a5-48fd50a15a9a}"):
            expect(words in texts[0], f"{name}: manifest without {words}")


def test_runs_under_wine():
    with tempfile.TemporaryDirectory() as folder:
        for name, words in (("flanneld", ["--version"]), ("flannelctl", ["version"])):
            path = os.path.join(folder, f"{name}.exe")
            with open(path, "wb") as file:
                file.write(zip_files()[f"{name}.exe"])
            found = run(os.path.join(ROOT, "tests", "wine", "run.sh"), path, *words).stdout
            expect(VERSION in found, f"{name} says {found!r}")


def test_no_path_of_the_tree():
    programs = [*((name, data) for name, data in zip_files().items() if name.endswith(".exe")),
                *((name, data) for name, data in tar_files().items() if name.startswith("bin/"))]
    tree = os.path.realpath(os.path.join(LINUX, "..", "..")).encode()
    expect_equal(len(programs), 4, "programs")
    expect_equal([name for name, data in programs if tree in data], [], f"programs that name {tree.decode()}")


def test_notices():
    for platform, files in (("windows", zip_files()), ("linux", tar_files())):
        text = files["THIRD-PARTY-NOTICES.txt"].decode()
        missing = [each for each in (*LIBRARIES["both"], *LIBRARIES[platform]) if f"(source package {each} " not in text]
        expect_equal(missing, [], f"{platform}: libraries without a notice")
        for words in ("Boost Software License", "TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION", "GCC RUNTIME LIBRARY EXCEPTION"):
            expect(words in text or words.title() in text or words.lower() in text.lower(), f"{platform}: no {words}")


def validate(path):
    return run("python3", "-m", "spdx_tools.spdx.clitools.pyspdxtools", "-i", path, check=False,
               env={**os.environ, "PYTHONPATH": READERS})


def test_sbom():
    path = os.path.join(DIST, f"weft-{VERSION}.spdx.json")
    done = validate(path)
    expect(done.returncode == 0 and not (done.stdout + done.stderr).strip(), f"not SPDX 2.3: {(done.stdout + done.stderr)[-600:]}")
    document = json.loads(read(path))
    for each in document["packages"]:
        if "packageFileName" in each:
            expect_equal(each["checksums"][0]["checksumValue"], hashlib.sha256(read(DIST, each["packageFileName"])).hexdigest(),
                         each["packageFileName"])
    names = {each["sourceInfo"].split(" ")[-2] for each in document["packages"] if "packageFileName" not in each}
    expect(names >= {*LIBRARIES["both"], *LIBRARIES["windows"], *LIBRARIES["linux"], "glibc"}, f"components: {sorted(names)}")
    with tempfile.TemporaryDirectory() as folder:  # the validator finds faults at all
        document["relationships"][0]["relatedSpdxElement"] = "SPDXRef-Nothing"
        broken = os.path.join(folder, "broken.spdx.json")
        with open(broken, "w", encoding="utf-8") as file:
            json.dump(document, file)
        expect(validate(broken).returncode != 0, "the validator accepts a document with a broken relation")


def blob(platform, descriptor):
    data = read(DIST, named(platform, "-oci"), "blobs", *descriptor["digest"].split(":"))
    expect_equal((hashlib.sha256(data).hexdigest(), len(data)), (descriptor["digest"].split(":")[1], descriptor["size"]), f"{platform}: blob")
    return data


def image(platform):
    """Descriptor, manifest, configuration, layers' bytes; every digest checked."""
    index = json.loads(read(DIST, named(platform, "-oci"), "index.json"))
    expect_equal(len(index["manifests"]), 1, "manifests")
    manifest = json.loads(blob(platform, index["manifests"][0]))
    config = json.loads(blob(platform, manifest["config"]))
    layers = [gzip.decompress(blob(platform, each)) for each in manifest["layers"]]
    expect_equal(config["rootfs"]["diff_ids"], ["sha256:" + hashlib.sha256(each).hexdigest() for each in layers], f"{platform}: diff_ids")
    expect_equal(len(config["history"]), len(layers), f"{platform}: history")
    known = {each["digest"].split(":")[1] for each in (index["manifests"][0], manifest["config"], *manifest["layers"])}
    expect_equal(set(os.listdir(os.path.join(DIST, named(platform, "-oci"), "blobs", "sha256"))), known, f"{platform}: blobs")
    return index["manifests"][0], manifest, config, layers


def test_images_are_copied_by_skopeo():
    for platform in PLATFORMS:
        for source in (f"oci:{DIST}/{named(platform, '-oci')}:{VERSION}", f"oci-archive:{DIST}/{named(platform, '-oci.tar')}:{VERSION}"):
            with tempfile.TemporaryDirectory() as folder:
                shown = json.loads(run("skopeo", "--override-os", platform, "inspect", "--config", source).stdout)
                expect_equal((shown["os"], shown["architecture"]), (platform, "amd64"), source)
                run("skopeo", "--insecure-policy", "--override-os", platform, "copy", source, f"oci:{folder}/copy:{VERSION}")
                copied = {each for _, _, names in os.walk(f"{folder}/copy/blobs") for each in names}
                wanted = set(os.listdir(os.path.join(DIST, named(platform, "-oci"), "blobs", "sha256")))
                # skopeo writes a manifest of its own form when it must; layers and configuration stay.
                expect(len(copied & wanted) >= len(wanted) - 1, f"{source}: copied {copied} of {wanted}")


def test_windows_image():
    descriptor, _, config, layers = image("windows")
    expect("platform" not in descriptor and "os.version" not in config, "the image names a Windows build; containerd would take it on that one only")
    expect_equal(config["os"], "windows", "os")
    expect_equal(config["config"]["Entrypoint"], ["%CONTAINER_SANDBOX_MOUNT_POINT%\\flanneld.exe"], "entrypoint")
    expect_equal(len(layers), 2, "layers")
    with tarfile.open(fileobj=io.BytesIO(layers[0])) as base, tempfile.TemporaryDirectory() as folder:
        names = {each.name for each in base if each.isfile()}
        expect_equal(names, {f"Files/Windows/System32/config/{each}" for each in ("DEFAULT", "SAM", "SECURITY", "SOFTWARE", "SYSTEM")}, "base layer")
        for name in names:  # as libhivex reads a registry hive, which checks its checksum and cells
            path = os.path.join(folder, "hive")
            with open(path, "wb") as file:
                file.write(base.extractfile(name).read())
            shown = run("hivexml", path).stdout
            expect('<node name="ROOT" root="1">' in shown, f"{name}: {shown}")
    with tarfile.open(fileobj=io.BytesIO(layers[1])) as ours:
        entries = {each.name: each for each in ours}
        expect_equal([each for each in entries][:2], ["Hives", "Files"], "first entries")
        for name, each in entries.items():
            expect_equal(each.pax_headers.get("MSWINDOWS.fileattr"), "16" if each.isdir() else "32", f"{name}: attributes")
            expect(each.isdir() or each.pax_headers.get("MSWINDOWS.rawsd"), f"{name}: no security descriptor")
        for name in ("flanneld.exe", "flannelctl.exe"):
            expect(ours.extractfile(f"Files/{name}").read() == zip_files()[name], f"{name} differs from the zip's")
        expect("Files/THIRD-PARTY-NOTICES.txt" in entries, "no notices")


def test_linux_image_runs():
    descriptor, _, config, _ = image("linux")
    expect_equal(descriptor["platform"], {"architecture": "amd64", "os": "linux"}, "platform")
    with tempfile.TemporaryDirectory() as folder:
        root = os.path.join(folder, "root")
        run("umoci", "raw", "unpack", "--image", f"{DIST}/{named('linux', '-oci')}:{VERSION}", root)
        inside = ("unshare", "--mount", "--net", "--pid", "--fork", "chroot", root)
        expect(VERSION in run(*inside, *config["config"]["Entrypoint"], "--version").stdout, "flanneld --version")
        expect(VERSION in run(*inside, "/opt/bin/flannelctl", "version").stdout, "flannelctl version")
        # As far as a wrong configuration: libraries, files and time zones are there.
        wrong = "/usr/share/doc/weft/LICENSE.txt"
        done = run(*inside, "/opt/bin/flanneld", "--lease-source=file:/nodes.json", "--node-name=a", f"--net-config-path={wrong}", check=False)
        expect(done.returncode == 1 and wrong in done.stderr, f"exit {done.returncode}: {done.stderr[-300:]}")
        for name in ("THIRD-PARTY-NOTICES.txt", "LICENSE.txt"):
            expect(os.path.getsize(os.path.join(root, "usr/share/doc/weft", name)) > 1000, f"no {name}")
        expect("source package glibc " in read(root, "usr/share/doc/weft/THIRD-PARTY-NOTICES.txt").decode(), "no notice of glibc")


def package(*words, environment=None):
    return run(os.path.join(ROOT, "deploy", "package.sh"), "--no-build", f"--linux={LINUX}", f"--windows={WINDOWS}", *words, check=False,
               env={**os.environ, **(environment or {})})


def expect_refused(done, *words):
    expect(done.returncode != 0 and all(each in done.stderr for each in words) and "Traceback" not in done.stderr,
           f"exit {done.returncode}, not {words}: {done.stderr[-400:]}")


def test_refusals():
    """A folder of somebody else's stays as it is; what is wrong is named."""
    with tempfile.TemporaryDirectory() as folder:
        mine = os.path.join(folder, "mine")
        os.mkdir(mine)
        with open(os.path.join(mine, "thesis.txt"), "w", encoding="utf-8") as file:
            file.write("x")
        expect_refused(package(f"--output={mine}"), mine, "no SHA256SUMS")
        expect_equal(os.listdir(mine), ["thesis.txt"], "what is left")
        expect_equal(os.listdir(folder), ["mine"], "what was left behind")
        expect_refused(package(f"--linux={folder}", f"--output={folder}/out"), folder, "not a build folder")
        expect_refused(package(f"--output={folder}/out", environment={"SOURCE_DATE_EPOCH": "yesterday"}), "SOURCE_DATE_EPOCH")
        expect_refused(package("--outptu=x"), "--outptu=x", "--help")
        other = os.path.join(folder, "build")
        os.mkdir(other)
        with open(os.path.join(other, "CMakeCache.txt"), "w", encoding="utf-8") as file:
            file.write("CMAKE_PROJECT_VERSION:STATIC=9.9.9\n")
        expect_refused(package(f"--linux={other}", f"--output={folder}/out"), "9.9.9", VERSION)
        expect(not os.path.exists(os.path.join(folder, "out")), "a refused run left packages")


def test_time():
    """Of every entry: the commit's, or SOURCE_DATE_EPOCH."""
    with tempfile.TemporaryDirectory() as folder:
        done = package(f"--output={folder}/out", environment={"SOURCE_DATE_EPOCH": "1700000000"})
        expect_equal(done.returncode, 0, done.stderr)
        with tarfile.open(os.path.join(folder, "out", named("linux", ".tar.gz"))) as archive:
            expect_equal({each.mtime for each in archive}, {1700000000}, "times")
        with zipfile.ZipFile(os.path.join(folder, "out", named("windows", ".zip"))) as archive:
            expect_equal({each.date_time for each in archive.infolist()}, {(2023, 11, 14, 22, 13, 20)}, "times")
        shutil.rmtree(os.path.join(folder, "out"))


def main():
    passed = failed = 0
    for name, function in list(globals().items()):
        if name.startswith("test_") and (not sys.argv[5:] or name[5:] in sys.argv[5:]):
            try:
                function()
                passed += 1
                print(f"ok {name[5:]}", flush=True)
            except AssertionError as reason:
                failed += 1
                print(f"not ok {name[5:]}: {reason}", flush=True)
            except Exception:
                failed += 1
                print(f"not ok {name[5:]}: {traceback.format_exc()}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
