"""Archives whose bytes depend on nothing but the files' names, contents and the time given: sorted entries, fixed modes, no owner."""

import gzip
import io
import tarfile
import time
import zipfile

EXECUTABLE, PLAIN, FOLDER = 0o755, 0o644, 0o755


class File:
    """`name` with slashes, relative to the archive's root; `pax`: extended attributes of a tar entry."""

    def __init__(self, name, data, executable=False, pax=None):
        self.name, self.data, self.executable, self.pax = name, data, executable, pax or {}

    @property
    def mode(self):
        return EXECUTABLE if self.executable else PLAIN


def below(folder, files):
    return [File(f"{folder}/{each.name}", each.data, each.executable, each.pax) for each in files]


def _sorted(files):
    names = [each.name for each in files]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ValueError(f"two files of one name: {', '.join(doubled)}")
    return sorted(files, key=lambda each: each.name)


def folders(files):
    """Those that the files lie in, outermost first."""
    return sorted({"/".join(parts[:depth]) for parts in (each.name.split("/") for each in files) for depth in range(1, len(parts))})


def zip_bytes(files, epoch):
    """MS-DOS times have two seconds and begin in 1980."""
    out = io.BytesIO()
    stamp = max(time.gmtime(epoch)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for each in _sorted(files):
            entry = zipfile.ZipInfo(each.name, stamp)
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, (0o100000 | each.mode) << 16
            archive.writestr(entry, each.data)
    return out.getvalue()


def tar_bytes(files, epoch, made_folders=None, folder_pax=None):
    """`made_folders`: the folders that get an entry, by default all that the files lie in. `folder_pax`: NAME -> extended attributes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in folders(files) if made_folders is None else made_folders:
            archive.addfile(_entry(name, tarfile.DIRTYPE, FOLDER, epoch, (folder_pax or {}).get(name, {})))
        for each in _sorted(files):
            entry = _entry(each.name, tarfile.REGTYPE, each.mode, epoch, each.pax)
            entry.size = len(each.data)
            archive.addfile(entry, io.BytesIO(each.data))
    return out.getvalue()


def _entry(name, kind, mode, epoch, pax):
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.mtime, entry.pax_headers = kind, mode, epoch, pax
    return entry


def gzipped(data):
    return gzip.compress(data, compresslevel=9, mtime=0)
