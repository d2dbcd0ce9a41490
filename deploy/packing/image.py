"""OCI image layouts, written without any container program: blobs named by their digests, index.json, oci-layout."""

import base64
import hashlib
import json
import time

from . import archive, hive, security

LAYER, CONFIG, MANIFEST, INDEX = (f"application/vnd.oci.image.{kind}" for kind in (
    "layer.v1.tar+gzip", "config.v1+json", "manifest.v1+json", "index.v1+json"))
HIVES = ("DEFAULT", "SAM", "SECURITY", "SOFTWARE", "SYSTEM")
MOUNT = "%CONTAINER_SANDBOX_MOUNT_POINT%"  # containerd's shim puts the image's root folder in its place


def layout(name, version, layers, config, epoch, platform=None):
    """The layout's files. `layers`: [(what made it, bytes of an uncompressed tar)]."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
    blobs = {}

    def add(data, media):
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(data)}

    described = [add(archive.gzipped(data), LAYER) for _, data in layers]
    made = add(_json({"created": created, "author": "the weft authors", "architecture": "amd64", **config,
                      "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(data).hexdigest() for _, data in layers]},
                      "history": [{"created": created, "created_by": made_by} for made_by, _ in layers]}), CONFIG)
    manifest = add(_json({"schemaVersion": 2, "mediaType": MANIFEST, "config": made, "layers": described}), MANIFEST)
    if platform:
        manifest["platform"] = platform
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version, "io.containerd.image.name": f"{name}:{version}"}
    return [archive.File("oci-layout", _json({"imageLayoutVersion": "1.0.0"})),
            archive.File("index.json", _json({"schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest]})),
            *(archive.File(f"blobs/sha256/{digest}", data) for digest, data in blobs.items())]


def _json(value):
    return json.dumps(value, sort_keys=True).encode()


def _labels(version, commit, title):
    return {"org.opencontainers.image.title": title, "org.opencontainers.image.version": version,
            "org.opencontainers.image.revision": commit, "org.opencontainers.image.licenses": "Apache-2.0"}


def linux(name, version, commit, epoch, files):
    folders = sorted({*archive.folders(files), "run", "run/flannel", "tmp", "var", "var/lib", "var/lib/weft"})
    config = {"os": "linux", "config": {
        "Entrypoint": ["/opt/bin/flanneld"], "Env": ["PATH=/opt/bin:/usr/sbin:/usr/bin:/sbin:/bin"], "WorkingDir": "/",
        "Labels": _labels(version, commit, "weft: flannel daemon for Linux")}}
    layer = archive.tar_bytes(files, epoch, folders)
    return layout(name, version, [("deploy/package.sh: programs and the libraries they load", layer)], config, epoch,
                  {"architecture": "amd64", "os": "linux"})


def windows(name, version, commit, epoch, files):
    """For HostProcess containers only: the base layer has no Windows in it, only what containerd's check of a base layer demands. Neither
    the configuration nor the index says a Windows build (os.version), since containerd takes only images of its own."""
    config = {"os": "windows", "config": {
        "Entrypoint": [f"{MOUNT}\\flanneld.exe"], "Env": ["PATH=C:\\Windows\\system32;C:\\Windows"],
        "Labels": _labels(version, commit, "weft: flannel daemon for Windows, HostProcess")}}
    base = [archive.File(f"Files/Windows/System32/config/{each}", hive.empty(each)) for each in HIVES]
    ours = [archive.File(each.name, each.data, each.executable, _attributes(32, security.of_file()))
            for each in archive.below("Files", files)]
    own_folders = ["Hives", *archive.folders(ours)]
    folder_pax = {each: _attributes(16, security.of_folder() if "/" in each else None) for each in own_folders}
    return layout(name, version, [("deploy/package.sh: a base layer for HostProcess containers", archive.tar_bytes(base, epoch)),
                                  ("deploy/package.sh: programs", archive.tar_bytes(ours, epoch, own_folders, folder_pax))], config, epoch)


def _attributes(attributes, descriptor):
    """In the words of Windows' layers: file attributes, security descriptor."""
    pax = {"MSWINDOWS.fileattr": str(attributes)}
    if descriptor:
        pax["MSWINDOWS.rawsd"] = base64.b64encode(descriptor).decode()
    return pax
