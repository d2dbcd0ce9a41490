"""How the measured programs were built, and what of the machine changes their speed."""

import json
import os
import re

from lab import command

VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"


def cache_values(text):
    """The variables of a CMakeCache.txt."""
    return dict(re.findall(r"^([A-Za-z0-9_]+):[A-Z]+=(.*)$", text, re.MULTILINE))


def compiler(folder):
    """{"compiler": ..., "flags": ...} of a build folder; without what is not known."""
    try:
        with open(os.path.join(folder, "CMakeCache.txt"), encoding="utf-8", errors="replace") as file:
            values = cache_values(file.read())
    except OSError:
        return {}
    path = values.get("CMAKE_CXX_COMPILER", "")
    kind = values.get("CMAKE_BUILD_TYPE", "")
    flags = [values.get(name, "") for name in ("CMAKE_CXX_FLAGS", f"CMAKE_CXX_FLAGS_{kind.upper()}", f"CMAKE_EXE_LINKER_FLAGS_{kind.upper()}")]
    version = command.run(path, "--version", check=False).splitlines() if path else []
    return {"compiler": version[0] if version else path, "build_type": kind, "flags": " ".join(filter(None, flags))}


def compile_database(folder):
    """The build's commands, as compile_commands.json would hold them; "[]" if the folder is no build of Ninja."""
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        return "[]"
    return command.run("ninja", "-C", folder, "-t", "compdb", check=False) or "[]"


def compile_options(database, source):
    """The compiler's options for the first file whose path has `source` in it, without paths."""
    words = next((each["command"].split() for each in json.loads(database) if source in each["file"] and " -c " in each["command"]), [])
    return " ".join(word for word in words if re.match(r"-(O|m|f|std|D|g)", word) and "/" not in word)


def first_line(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().strip()
    except OSError:
        return None


def mitigations(folder=VULNERABILITIES):
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return {name: first_line(os.path.join(folder, name)) for name in names}


def bracketed(text):
    """The chosen word of "always [madvise] never"."""
    match = re.search(r"\[(\w+)\]", text or "")
    return match[1] if match else text


def system():
    iperf = command.run("iperf3", "--version", check=False).splitlines()
    return {"mitigations": mitigations(),
            "transparent_hugepages": bracketed(first_line("/sys/kernel/mm/transparent_hugepage/enabled")),
            "governor": first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            "iperf3": iperf[0].split(" (")[0] if iperf else None}
