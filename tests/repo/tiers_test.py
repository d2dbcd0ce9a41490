#!/usr/bin/env python3
"""Plants one test that no tier runs at a time in a small tree and expects tiers.py to name it."""
import pathlib
import subprocess
import sys
import tempfile

CLEAN = {
    "tests/run.sh": "part_gate() { gate; }\n",
    "tests/parts.tsv": "# parts\n=UNIT\ttests/vxlan tests/run.sh\ngate\t.\tall\nload\tUNIT tests/soak\ttwenty minutes\n",
    "tests/soak/load.sh": "",
    "tests/vxlan/CMakeLists.txt": "weft_test(vxlan_test SOURCES vni_test.cc)\nweft_fuzz(vni_fuzz SOURCES vni_fuzz.cc)\n",
    "tests/vxlan/vni_test.cc": "",
    "tests/vxlan/vni_fuzz.cc": "",
    "tests/repo/CMakeLists.txt": "weft_repo_test(layering_test)\nforeach(subject IN ITEMS cpu goals)\n",
    "tests/repo/layering_test.py": "",
    "tests/repo/cpu_test.py": "",
    "tests/netns/lease_test.py": "def test_lease(): pass\n",
    "tests/netns/lab/node.py": "def node(): pass\n",
}

# file, its content, the finding
PLANTED = [
    ("tests/vxlan/mac_test.cc", "", "tests/vxlan/mac_test.cc: no CMakeLists.txt names it"),
    ("tests/vxlan/mac_fuzz.cc", "", "tests/vxlan/mac_fuzz.cc: no CMakeLists.txt names it"),
    ("tests/vxlan/vni2_test.cc", "", "tests/vxlan/vni2_test.cc: no CMakeLists.txt names it"),
    ("tests/repo/format_test.py", "", "tests/repo/format_test.py: no CMakeLists.txt names it"),
    ("tests/netns/lab/node.py", "def test_node(): pass\n", "tests/netns/lab/node.py: test_node: the suite finds tests only"),
    ("tests/e2e/leases.py", "def test_all(): pass\n", "tests/e2e/leases.py: test_all: the suite finds tests only"),
    ("tests/e2e/cluster/api_test.py", "def test_all(): pass\n", "tests/e2e/cluster/api_test.py: test_all: the suite finds tests only"),
    ("tests/soak/churn.sh", "", "tests/soak/churn.sh: tests/parts.tsv has no part churn"),
    ("tests/parts.tsv", "gate\t.\tall\nload\t.\tx\nfuzz\t.\tx\n", "fuzz: tests/run.sh has no part_fuzz"),
    ("tests/parts.tsv", "gate\t.\tall\nload\ttests/gone\tx\n", "load: no file tests/gone"),
]

TIERS = pathlib.Path(__file__).with_name("tiers.py")


def run(files):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "-C", folder, "init", "-q"], check=True)
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, TIERS, folder], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


failed = 0
status, text = run(CLEAN)
if status != 0:
    failed += 1
    print(f"a clean tree: {text}")
for name, content, finding in PLANTED:
    status, text = run(CLEAN | {name: content})
    if status != 1 or finding not in text:
        failed += 1
        print(f"{name}: expected '{finding}', got: {text}")
print(f"{len(PLANTED) + 1 - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
