"""The smallest registry hive: a root key with an access list and nothing in it. A base layer of a Windows image must have five;
Windows Server 2025 refuses empty files. Layout: "regf" base block, one "hbin" with an "nk" cell, an "sk" cell and a free one."""

import struct

from . import security

BIN = 4096  # size of a base block and of the smallest bin
NONE = 0xFFFFFFFF
KEY_HIVE_ENTRY, KEY_NO_DELETE, KEY_ASCII_NAME = 0x04, 0x08, 0x20
KEY_ALL = 0xF003F


def _cell(payload):
    """A used cell: a negative size, multiple of eight."""
    size = (4 + len(payload) + 7) & ~7
    return struct.pack("<i", -size) + payload.ljust(size - 4, b"\0")


def _root_key(security_cell):
    name = b"ROOT"
    return struct.pack("<2sHQIIIIIIIIIIIIIIIHH", b"nk", KEY_HIVE_ENTRY | KEY_NO_DELETE | KEY_ASCII_NAME, 0, 0, NONE,
                       0, 0, NONE, NONE, 0, NONE, security_cell, NONE, 0, 0, 0, 0, 0, len(name), 0) + name


def _security(own_cell):
    descriptor = security.descriptor([(security.ADMINISTRATORS, KEY_ALL), (security.SYSTEM, KEY_ALL)], inherit=security.CONTAINERS)
    return struct.pack("<2sHIIII", b"sk", 0, own_cell, own_cell, 1, len(descriptor)) + descriptor


def empty(name):
    root = 0x20  # the first cell, after the bin's header
    below = root + len(_cell(_root_key(0)))
    cells = _cell(_root_key(below)) + _cell(_security(below))
    free = BIN - root - len(cells)
    data = struct.pack("<4sIIQQI", b"hbin", 0, BIN, 0, 0, 0) + cells + struct.pack("<i", free).ljust(free, b"\0")
    head = struct.pack("<4sIIQIIIIIII", b"regf", 1, 1, 0, 1, 3, 0, 1, root, BIN, 1) + name.encode("utf-16-le")[:62].ljust(64, b"\0")
    head = head.ljust(508, b"\0")
    checksum = 0
    for (word,) in struct.iter_unpack("<I", head):
        checksum ^= word
    return (head + struct.pack("<I", checksum)).ljust(BIN, b"\0") + data
