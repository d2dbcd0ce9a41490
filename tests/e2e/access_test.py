"""Access to the API server: TLS, tokens, the role; and secrets are not shown."""

import json
import os
import secrets

from lab import command, lease

from cluster import audit, certificates
from cluster.cluster import nightly, weft_only

def expect_reported(a, *words):
    """Alive, and status has a condition with each of `words`."""
    def shown():
        text = a.flannelctl("status", check=False)
        return all(word in text for word in words)
    command.wait_until(shown, lambda: f"status of a says {words}: {a.flannelctl('status', check=False)}", timeout=60)
    a.daemon.expect_running()


@weft_only
def test_role(cluster):
    """With every line it can log: two kinds of request, none beyond the role, no secret. Lists come as a stream, never in pages."""
    a, b = cluster.add("a"), cluster.add("b")
    a.flags["v"] = 10
    cluster.start(a, b)
    a.down()
    a.up()
    cluster.bystander("far", "10.244.9.0/24")
    cluster.settle("far joins", with_traffic=False)
    command.expect_equal(cluster.audit.requested(a), {("watch", "nodes"), ("patch", "nodes/status")}, "the requests of a")
    paged = [row["requestURI"] for row in cluster.audit.entries(a) if "limit=" in row["requestURI"]]
    command.expect(not paged, f"a requested pages: {paged}")
    for secret in cluster.secrets:
        for words in (["status"], ["status", "-o", "json"], ["leases", "-o", "json"]):
            command.expect(secret not in a.flannelctl(*words, check=False), f"flannelctl {words[0]} shows a secret")


@weft_only
def test_wrong_token(cluster):
    """Reported and retried; accepted as soon as the file has the right one."""
    a, b = cluster.add("a"), cluster.add("b")
    wrong = f"planted-wrong-{secrets.token_hex(16)}"
    cluster.secrets.append(wrong)
    cluster.refusals = True
    lease.write_text(a.path("token"), wrong)
    a.write_kubeconfig({"tokenFile": a.path("token")})
    a.flags["v"] = 10
    a.spawn()
    expect_reported(a, "401")
    command.expect(wrong not in a.flannelctl("status", check=False), "status shows the token")
    lease.write_text(a.path("token"), a.token + "\n")
    a.wait_ready(timeout=40)
    cluster.start(b)


@weft_only
def test_token_rotated(cluster):
    """The API server accepts another token from now on; the file has it a little later."""
    a, b = cluster.add("a"), cluster.add("b")
    lease.write_text(a.path("token"), a.token)
    a.write_kubeconfig({"tokenFile": a.path("token")})
    cluster.start(a, b)
    rotated = f"planted-rotated-{secrets.token_hex(16)}"
    cluster.secrets.append(rotated)
    cluster.refusals = True
    tokens = cluster.site.tokens
    with cluster.control.taking([rotated, *(token for name, token in tokens.items() if name != "a")]):
        command.wait_until(lambda: any(audit.code(row) == 401 for row in cluster.audit.entries(a)), "a is refused", timeout=30)
        lease.write_text(a.path("token"), rotated)
        cluster.bystander("far", "10.244.9.0/24")
        cluster.settle("a's token is rotated", timeout=90, of=a)


@weft_only
def test_exec_plugin(cluster):
    """The token is what a program prints (cat, found in PATH); after a 401 the program runs again, and its token is used."""
    def prints(token):
        lease.write_text(a.path("credential"), json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
                                                           "status": {"token": token}}))
    a, b = cluster.add("a"), cluster.add("b")
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "cat", "args": [a.path("credential")], "interactiveMode": "Never"}
    a.write_kubeconfig({"exec": plugin})
    prints(a.token)
    cluster.start(a, b)
    rotated = f"planted-rotated-{secrets.token_hex(16)}"
    cluster.secrets.append(rotated)
    cluster.refusals = True
    with cluster.control.taking([rotated, *(token for name, token in cluster.site.tokens.items() if name != "a")]):
        command.wait_until(lambda: any(audit.code(row) == 401 for row in cluster.audit.entries(a)), "a is refused", timeout=30)
        prints(rotated)
        cluster.bystander("far", "10.244.9.0/24")
        cluster.settle("a's plugin gives another token", timeout=90, of=a)
    os.remove(a.path("credential"))
    cluster.site.restart_apiserver()
    expect_reported(a, "exec plugin", "exit status 1")
    prints(a.token)
    cluster.settle("the plugin works again", timeout=60, of=a)


@weft_only
@nightly
def test_broken_kubeconfig(cluster):
    """Exit status 1, one line that names the file, and not what is in it."""
    a = cluster.add("a")
    for text in (f"users:\n- name: a\n  user:\n   token: {a.token}\n  wrong: [\n", f"users: [{{name: a, user: {{token: [{a.token}]}}}}]",
                 f"{a.token}", f'{{"users": "{a.token}"'):
        lease.write_text(a.path("kubeconfig"), text)
        a.spawn()
        a.expect_exit(1, f"kubeconfig {text!r}")
        command.expect(a.path("kubeconfig") in a.last_words(), f"{text!r}: {a.last_words()}")


@weft_only
def test_another_authority(cluster):
    """A server with a certificate of another authority gets no token."""
    a = cluster.add("a")
    certificates.Authority(a.folder, "other")
    a.write_kubeconfig({"token": a.token}, **{"certificate-authority": a.path("other.crt")})
    a.spawn()
    expect_reported(a, "certificate")
    command.expect_equal(cluster.audit.entries(a), [], "what the API server heard of a")


@weft_only
def test_another_name(cluster):
    """An address that the server's certificate does not name: refused, unless tls-server-name gives the expected name."""
    a, b = cluster.add("a"), cluster.add("b")
    with cluster.control.also_at("192.168.80.2") as url:
        a.write_kubeconfig({"token": a.token}, server=url)
        a.spawn()
        expect_reported(a, "certificate")
        command.expect_equal(cluster.audit.entries(a), [], "what the API server heard of a")
        a.down()
        a.write_kubeconfig({"token": a.token}, server=url, **{"tls-server-name": "kubernetes"})
        cluster.start(a, b)


def test_unverified(cluster):
    """insecure-skip-tls-verify is obeyed; weft warns."""
    a, b = cluster.add("a"), cluster.add("b")
    a.write_kubeconfig({"token": a.token}, **{"certificate-authority": None, "insecure-skip-tls-verify": True})
    cluster.start(a, b)
    if a.kind == "weft":
        command.expect("insecure-skip-tls-verify" in a.log_text(), "no warning in the log")


def test_role_without_get(cluster):
    """Manifests before November 2022 did not allow flannel to get a Node."""
    cluster.refusals = True
    with cluster.control.role([{**rule, "verbs": [verb for verb in rule["verbs"] if rule["resources"] != ["nodes"] or verb != "get"]}
                               for rule in cluster.control.rules]):
        cluster.pair()


@weft_only
def test_role_without_patch(cluster):
    """Reported while it lasts; then published."""
    a, b = cluster.add("a"), cluster.add("b")
    cluster.refusals = True
    with cluster.control.role([rule for rule in cluster.control.rules if "patch" not in rule["verbs"]]):
        a.spawn()
        expect_reported(a, "403")
        command.expect_equal(cluster.published("a"), {}, "annotations without the right to write them")
    a.wait_ready(timeout=40)
    cluster.start(b)
