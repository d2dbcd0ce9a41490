"""etcd and kube-apiserver in a namespace, set up as a cluster's are: RBAC, audit log, tokens, TLS."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import ssl

from lab import command, daemon, lease, peers, topology

from . import api, certificates

PORT = 6443
SECOND_PORT = 6444
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/flannel"
ETCD = "127.0.0.1:2379"
ACCOUNT = "system:serviceaccount:kube-flannel:flannel"

AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Request, resources: [{group: "", resources: [nodes/status]}]}
- {level: Metadata}
"""


class ControlPlane:
    """`where`: a namespace with `address`. `tokens` are all the flannel service account's."""

    def __init__(self, where, address, folder, logs, tokens):
        self.where, self.address, self.folder, self.logs = where, address, folder, logs
        self.etcd = self.apiserver = None
        self.starts = 0
        self.tokens = tokens
        os.makedirs(folder, exist_ok=True)
        self.authority = certificates.Authority(folder)
        self.authority.sign("server", "/CN=kube-apiserver", f"subjectAltName=DNS:kubernetes,DNS:localhost,IP:127.0.0.1,IP:{address}")
        self.authority.sign("admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth")
        certificates.service_account_keys(folder)
        self._write_tokens(tokens)
        lease.write_text(self.path("audit.yaml"), AUDIT_POLICY)
        lease.write_text(self.path("admin.kubeconfig"), json.dumps(self.kubeconfig(
            {"client-certificate": self.path("admin.crt"), "client-key": self.path("admin.key")})))
        self.tls = ssl.create_default_context(cafile=self.path("ca.crt"))
        self.tls.load_cert_chain(self.path("admin.crt"), self.path("admin.key"))
        self.api = api.Api(where, address, PORT, self.tls)

    def path(self, name):
        return os.path.join(self.folder, name)

    def _write_tokens(self, tokens):
        rows = [f'{token},{ACCOUNT},1001,"system:serviceaccounts,system:serviceaccounts:kube-flannel"' for token in tokens]
        lease.write_text(self.path("tokens.csv"), "\n".join(rows) + "\n")

    def log_path(self, name):
        return os.path.join(self.logs, f"{name}.log")

    @property
    def url(self):
        return f"https://{self.address}:{PORT}"

    def kubeconfig(self, user, **cluster):
        """As a value: JSON is YAML too. None in `cluster` leaves a field out."""
        known = {"server": self.url, "certificate-authority": self.path("ca.crt"), **cluster}
        return {"apiVersion": "v1", "kind": "Config", "current-context": "test",
                "clusters": [{"name": "test", "cluster": {key: value for key, value in known.items() if value is not None}}],
                "users": [{"name": "test", "user": user}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]}

    def up(self):
        self.start_etcd()
        self.start_apiserver()
        self._grant()

    def start_etcd(self):
        self.etcd = self._start("etcd", "--data-dir", self.path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
                                "--quota-backend-bytes=8589934592", f"--listen-client-urls=http://{ETCD}",
                                f"--advertise-client-urls=http://{ETCD}", "--listen-peer-urls=http://127.0.0.1:2380")

    def wait_ready(self, timeout=60):
        """After a start of either program."""
        for each in self.programs():
            each.wait_until_started(self._ready, lambda: f"kube-apiserver is not ready; see {self.log_path('kube-apiserver')}", timeout)

    def _ready(self):
        for each in self.programs():
            each.expect_running()
        return self.api.ready()

    def programs(self):
        """Those that a test has started, and not ended."""
        return [each for each in (self.etcd, self.apiserver) if each]

    def stop_etcd(self):
        ending, self.etcd = self.etcd, None
        ending.stop(signal.SIGKILL)

    def backup_etcd(self):
        """Of its present state, for restore_etcd."""
        self.stop_etcd()
        shutil.copytree(self.path("etcd"), self.path("backup"))
        self.start_etcd()

    def restore_etcd(self):
        self.stop_etcd()
        shutil.rmtree(self.path("etcd"))
        os.rename(self.path("backup"), self.path("etcd"))
        self.start_etcd()

    def start_apiserver(self, *flags):
        self.starts += 1
        self.apiserver = self._run_apiserver(PORT, *flags)
        self.wait_ready()

    def _run_apiserver(self, port, *flags):
        # Compaction is the tests' own business.
        return self._start(
            "kube-apiserver", f"--etcd-servers=http://{ETCD}", "--etcd-compaction-interval=0", f"--secure-port={port}",
            "--bind-address=0.0.0.0", f"--advertise-address={self.address}", f"--tls-cert-file={self.path('server.crt')}",
            f"--tls-private-key-file={self.path('server.key')}", f"--client-ca-file={self.path('ca.crt')}",
            f"--token-auth-file={self.path('tokens.csv')}", "--authorization-mode=RBAC", f"--service-account-key-file={self.path('sa.pub')}",
            f"--service-account-signing-key-file={self.path('sa.key')}", "--service-account-issuer=https://kubernetes",
            "--service-cluster-ip-range=10.96.0.0/16", "--disable-admission-plugins=ServiceAccount", "--allow-privileged=true",
            f"--audit-policy-file={self.path('audit.yaml')}", f"--audit-log-path={self.log_path('audit')}", *flags)

    @contextlib.contextmanager
    def second(self, *flags):
        """While open, another API server on the same etcd; yields it."""
        made = Second(self, flags)
        made.start()
        try:
            yield made
        finally:
            made.stop()

    def run_second(self, *flags):
        return self._run_apiserver(SECOND_PORT, *flags)

    def stop_apiserver(self, how=signal.SIGKILL):
        """Kills it: a crash to its clients. It has no state beyond etcd's."""
        ending, self.apiserver = self.apiserver, None
        ending.stop(how, timeout=70)

    def ended(self):
        """Which of both ended by itself, as sentences."""
        return [each.ended() for each in self.programs() if each.ended()]

    def _start(self, name, *flags):
        with open(self.log_path(name), "a", encoding="utf-8") as log:
            process = self.where.start(peers.find(name), *flags, stdout=log, stderr=log)
        return daemon.Daemon(name, process, peer=True)

    def _grant(self):
        """As in the manual."""
        self.kubectl("apply", "-f", os.path.join(topology.ROOT, "deploy", "rbac.yaml"))
        self.rules = self.api.request("GET", ROLE)["rules"]

    def account_token(self):
        """As in a pod's volume."""
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
        return self.api.request("POST", "/api/v1/namespaces/kube-flannel/serviceaccounts/flannel/token", request)["status"]["token"]

    @contextlib.contextmanager
    def role(self, rules):
        """While open, flannel may do this and no more."""
        self._set_rules(rules)
        try:
            yield
        finally:
            self._set_rules(self.rules)

    def _set_rules(self, rules):
        self.api.request("PATCH", ROLE, {"rules": rules}, "application/merge-patch+json")

    @contextlib.contextmanager
    def taking(self, tokens):
        """While open, an API server that accepts only these tokens for the flannel service account."""
        self._restart_with(tokens)
        try:
            yield
        finally:
            self._restart_with(self.tokens)

    def _restart_with(self, tokens):
        self.stop_apiserver()
        self._write_tokens(tokens)
        self.start_apiserver()

    @contextlib.contextmanager
    def also_at(self, address):
        """While open, the API server has this address too, which its certificate does not name; yields the URL."""
        self.where.ip(f"addr add {address}/24 dev eth0")
        try:
            yield f"https://{address}:{PORT}"
        finally:
            self.where.ip(f"addr delete {address}/24 dev eth0")

    def forget_connections(self, address):
        """Those of this client, as if the machine had been switched off."""
        self.where.run("ss", "--kill", "--tcp", "dst", address)

    def kubectl(self, *words):
        return self.where.run(peers.find("kubectl"), f"--kubeconfig={self.path('admin.kubeconfig')}", *words)

    def compact(self):
        """etcd forgets every revision but the last; which one that is."""
        revision = self._etcd("/v3/kv/range", {"key": "AA==", "range_end": "AA==", "keys_only": True, "limit": 1})["header"]["revision"]
        self._etcd("/v3/kv/compaction", {"revision": revision, "physical": True})
        return int(revision)

    def _etcd(self, path, body):
        connection = http.client.HTTPConnection(ETCD, timeout=10)
        with self.where.entered():
            connection.connect()
        connection.request("POST", path, json.dumps(body))
        answer = connection.getresponse()
        text = answer.read().decode()
        command.expect_equal(answer.status, 200, f"etcd {path}: {text}")
        connection.close()
        return json.loads(text)

    def close(self):
        found = command.failures([stop for stop, running in ((self.stop_apiserver, self.apiserver), (self.stop_etcd, self.etcd)) if running])
        command.add_failures(None, found)


class Second:
    """An API server next to the first one."""

    port = SECOND_PORT

    def __init__(self, control, flags):
        self.control, self.flags, self.running = control, flags, None
        self.url = f"https://{control.address}:{SECOND_PORT}"
        self.api = api.Api(control.where, control.address, SECOND_PORT, control.tls)

    def start(self):
        self.control.starts += 1
        self.running = self.control.run_second(*self.flags)
        self.running.wait_until_started(self.api.ready,
                                        lambda: f"the second kube-apiserver is not ready; see {self.control.log_path('kube-apiserver')}", 60)

    def stop(self):
        ending, self.running = self.running, None
        if ending:
            ending.stop(signal.SIGKILL)
