"""The paths of the real peer programs, which tests/e2e/peers.sh builds; WEFT_PEERS chooses their versions."""

import os

from . import command

CACHE = os.environ.get("WEFT_DEPS") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weft")
OLDEST = os.environ.get("WEFT_PEERS") == "oldest"


def path(name):
    return os.path.join(CACHE, "peers-oldest" if OLDEST else "peers", name)


def missing(*names):
    """Those of them that are not built."""
    return [name for name in names if not os.access(path(name), os.X_OK)]


def find(name):
    command.expect(not missing(name), f"{path(name)} is missing; run: cmake/bootstrap.sh peers")
    return path(name)
