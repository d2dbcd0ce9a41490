"""Windows' security descriptors in their self-relative form: owner Administrators, group SYSTEM, an access list."""

import struct

ADMINISTRATORS, SYSTEM, USERS = (5, 32, 544), (5, 18), (5, 32, 545)
FILE_ALL, FILE_READ_EXECUTE = 0x1F01FF, 0x1200A9
OBJECTS, CONTAINERS = 0x01, 0x02  # what inherits an entry


def _sid(parts):
    return struct.pack(">BBQ", 1, len(parts) - 1, parts[0])[:2] + struct.pack(">Q", parts[0])[2:] + \
        b"".join(struct.pack("<I", each) for each in parts[1:])


def _entry(sid, rights, inherit):
    sid = _sid(sid)
    return struct.pack("<BBHI", 0, inherit, 8 + len(sid), rights) + sid


def descriptor(allowed, inherit=0):
    """`allowed`: [(SID, rights)]."""
    entries = b"".join(_entry(sid, rights, inherit) for sid, rights in allowed)
    acl = struct.pack("<BBHHH", 2, 0, 8 + len(entries), len(allowed), 0) + entries
    owner, group = _sid(ADMINISTRATORS), _sid(SYSTEM)
    head = 20
    return struct.pack("<BBHIIII", 1, 0, 0x8004, head, head + len(owner), 0, head + len(owner) + len(group)) + owner + group + acl


def of_file():
    return descriptor([(ADMINISTRATORS, FILE_ALL), (SYSTEM, FILE_ALL), (USERS, FILE_READ_EXECUTE)])


def of_folder():
    return descriptor([(ADMINISTRATORS, FILE_ALL), (SYSTEM, FILE_ALL), (USERS, FILE_READ_EXECUTE)], inherit=OBJECTS | CONTAINERS)
