"""The API server as an administrator sees it: raw JSON over TLS, from inside the server's namespace."""

import contextlib
import http.client
import json
import socket
import threading
import time

from lab import command


# What a kubelet leaves. Upstream's flanneld cannot start on a Node without annotations.
KUBELETS = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}

LIMIT = 10  # seconds, of an answer


class Refusal(command.Failure):
    """The server refused; `status` is HTTP's."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class _Connection(http.client.HTTPSConnection):
    """Connects inside a namespace, also when it does so again."""

    def __init__(self, where, *arguments, **options):
        super().__init__(*arguments, **options)
        self.where = where

    def connect(self):
        with self.where.entered():
            super().connect()
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Api:
    """Any thread; each has a connection of its own."""

    def __init__(self, where, address, port, tls):
        self._new = lambda timeout: _Connection(where, address, port, timeout=timeout, context=tls)
        self._mine = threading.local()

    def request(self, method, path, body=None, content_type="application/json"):
        """The answer as a value; Refusal when the server refuses, OSError when it is away."""
        if not hasattr(self._mine, "connection"):
            self._mine.connection = self._new(command.patience(LIMIT))
        connection = self._mine.connection
        headers = {"Content-Type": content_type} if body is not None else {}
        data = json.dumps(body) if body is not None else None
        began = time.monotonic()
        for last in (connection.sock is None, True):
            try:
                connection.request(method, path, data, headers)
                answer = connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if last:  # a kept connection may have died with the server: once more, on a new one
                    raise OSError(f"{method} {path}: {error}") from None
        command.within(time.monotonic() - began, LIMIT, f"{method} {path}")
        if answer.status >= 300:
            raise Refusal(answer.status, f"{method} {path}: {answer.status} {text.decode(errors='replace')[:300]}")
        return json.loads(text) if answer.getheader("Content-Type", "").startswith("application/json") else text.decode()

    def ready(self):
        try:
            return self.request("GET", "/readyz") == "ok"
        except (OSError, Refusal):
            return False

    # ---- Nodes

    def nodes(self):
        return self.request("GET", "/api/v1/nodes")["items"]

    def node(self, name):
        return self.request("GET", f"/api/v1/nodes/{name}")

    def create_node(self, name, *pod_cidrs, annotations=KUBELETS):
        """A Node as before any flanneld. `annotations`: whole keys."""
        spec = {"podCIDR": pod_cidrs[0], "podCIDRs": list(pod_cidrs)} if pod_cidrs else {}
        return self.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "spec": spec,
                                                      "metadata": {"name": name, "annotations": annotations}})

    def delete_node(self, name):
        self.request("DELETE", f"/api/v1/nodes/{name}")

    def assign(self, name, *pod_cidrs):
        """What kube-controller-manager does to a Node without podCIDR."""
        self.patch_node(name, {"spec": {"podCIDR": pod_cidrs[0], "podCIDRs": list(pod_cidrs)}})

    def annotate(self, name, annotations):
        """Whole keys; None removes one."""
        self.patch_node(name, {"metadata": {"annotations": annotations}})

    def patch_node(self, name, patch):
        self.request("PATCH", f"/api/v1/nodes/{name}", patch, "application/merge-patch+json")

    def patch_node_status(self, name, patch):
        self.request("PATCH", f"/api/v1/nodes/{name}/status", patch, "application/merge-patch+json")

    def delete_all(self, path):
        self.request("DELETE", path)

    @contextlib.contextmanager
    def watching(self, path="/api/v1/nodes"):
        """Yields a list that grows by each event since now: {"type", "object"}."""
        version = self.request("GET", path)["metadata"]["resourceVersion"]
        connection = self._new(None)
        connection.request("GET", f"{path}?watch=1&resourceVersion={version}")
        answer = connection.getresponse()
        events = []

        def read():
            with contextlib.suppress(OSError, ValueError, AttributeError, http.client.HTTPException):  # closed at the end
                for line in answer:
                    events.append(json.loads(line))

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        try:
            yield events
        finally:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)
            thread.join(5)
            connection.close()
