#!/usr/bin/env python3
"""Plants one violation at a time in a small tree and expects layering.py to name it."""
import pathlib
import subprocess
import sys
import tempfile

CLEAN = {
    "vxlan/vni.h": "#include <cstdint>\n",
    "vxlan/sum_avx2.cc": "#include <immintrin.h>\n",
    "dataplane/forwarder.h": '#include "vxlan/vni.h"\n',
    "dataplane/ports/tun_linux.cc": '#include <linux/if_tun.h>\n#include "dataplane/forwarder.h"\n',
    "hns/network_json.cc": '#include "nlohmann/json.hpp"\n',
    "control/lease/lease.h": '#include "absl/status/status.h"\n#include "vxlan/vni.h"\n',
    "control/sinks/hns_sink.cc": '#include "control/lease/lease.h"\n#include "hns/api.h"\n',
    "control/daemon/main.cc": '#include "control/sinks/hns_sink.h"\n#include <boost/asio.hpp>\n',
    "control/sinks/hns_sink.h": "",
    "hns/api.h": '#include "vxlan/text/printable.h"\n',
    "vxlan/text/printable.h": "",
    "tests/vxlan/vni_test.cc": '#include <gtest/gtest.h>\n#include <unistd.h>\n#include "vxlan/vni.h"\n',
}

# file, its content, the reason expected
PLANTED = [
    ("vxlan/a.h", '#include "dataplane/forwarder.h"', "vxlan may include no other folder"),
    ("vxlan/a.h", '#include "absl/status/status.h"', "vxlan may use no library"),
    ("vxlan/a_linux.cc", "#include <unistd.h>", "vxlan includes the standard library only"),
    ("vxlan/a.cc", "#include <immintrin.h>", "intrinsics only in"),
    ("vxlan/a.cc", "#if defined(_WIN32)", "OS conditionals only in"),
    ("vxlan/a.cc", '#include "vxlan/missing.h"', "no such file"),
    ("dataplane/a.h", '#include "dataplane/ports/tun_linux.cc"', "dataplane may include vxlan"),
    ("dataplane/a.cc", "#include <boost/asio.hpp>", "dataplane may use absl/status"),
    ("dataplane/a.cc", '#include "absl/container/flat_hash_map.h"', "dataplane may use absl/status"),
    ("dataplane/ports/a.cc", "#include <sys/socket.h>", "OS headers only in"),
    ("dataplane/ports/a_linux.cc", '#include "control/lease/lease.h"', "dataplane/ports may include"),
    ("hns/a.h", '#include "control/lease/lease.h"', "hns may include hns/api hns/document vxlan"),
    ("hns/network_json.h", '#include "nlohmann/json.hpp"', "nlohmann only in"),
    ("hns/api_win.h", '#include "spdlog/spdlog.h"', "hns may use absl nlohmann, not spdlog"),
    ("control/a.h", '#include "hns/api.h"', "control may include control/lease vxlan"),
    ("control/lease/a.cc", '#include "spdlog/spdlog.h"', "control/lease may use absl"),
    ("control/kube/a.cc", '#include "control/sinks/hns_sink.h"', "control/kube may include"),
    ("control/kube/a.cc", "#include <boost/beast.hpp>", "control/kube may use absl"),
    ("control/kube/codec/a.cc", "#include <protozero/pbf_reader.hpp>", "protozero only in"),
    ("control/kube/client/a.cc", "#include <yaml-cpp/yaml.h>", "yaml-cpp only in"),
    ("control/sources/a.cc", '#include "control/sinks/hns_sink.h"', "control/sources may include"),
    ("control/cli/a.cc", '#include "control/daemon/main.cc"', "no other folder includes control/daemon"),
    ("control/cli/a.cc", '#include "tests/vxlan/vni_test.cc"', "no other folder includes tests"),
    ("control/cli/a.cc", "#include <gtest/gtest.h>", "gtest only in tests and bench"),
    ("control/CMakeLists.txt", "weft_program(a SOURCES a.cc LIBS GTest::gmock)", "test code in a product"),
]


def check(tree):
    with tempfile.TemporaryDirectory() as root:
        for name, text in tree.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        script = pathlib.Path(__file__).with_name("layering.py")
        done = subprocess.run([sys.executable, script, root], capture_output=True, text=True)
        return done.returncode, done.stdout


failures = []
if check(CLEAN) != (0, "0 violations\n"):
    failures.append(f"clean tree: {check(CLEAN)}")
for file, line, reason in PLANTED:
    status, output = check({**CLEAN, file: f"// first line\n{line}\n"})
    if status != 1 or not output.startswith(f"{file}:2: {line}: ") or reason not in output:
        failures.append(f"{file}: {line}: wanted '{reason}', got {status}: {output.strip()}")
print("\n".join(failures + [f"{len(PLANTED) + 1} trees, {len(failures)} wrong"]))
sys.exit(1 if failures else 0)
