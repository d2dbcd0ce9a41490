"""An API server as far as one flanneld needs it, whose Nodes send heartbeats: a streaming list in protobuf that continues as a watch.

No part of a lease ever changes, but every event is another version of its Node, with the annotations in another order. Patches of a
Node's annotations are accepted, and sent to the watches.
"""

import asyncio
import json
import random
import ssl
import struct
import threading
import time
import urllib.parse

from lab import lease


def varint(value):
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)
    return bytes(data)


def field(number, value):
    """A string, data or a message; a list is several fields."""
    if isinstance(value, list):
        return b"".join(field(number, each) for each in value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def envelope(kind, message):
    return b"k8s\0" + field(1, field(1, "v1") + field(2, kind)) + field(2, message)


def frame(change, kind, message):
    event = field(1, change) + field(2, field(1, envelope(kind, message)))
    return struct.pack(">I", len(event)) + event


class Node:
    """The parts that change with each version are made each time, the rest once."""

    def __init__(self, own, images):
        self.name = own.name
        node = own.node() if own.mac else {"metadata": {"annotations": {}}}
        self.annotations = node["metadata"]["annotations"]
        self.head = field(1, own.name) + field(5, f"uid-of-{own.name}")
        self.tail = field(8, varint(1 << 3) + varint(1_763_000_000)) + field(11, [field(1, "kubernetes.io/hostname") + field(2, own.name)])
        self.spec = field(2, field(1, own.subnet) + field(7, own.subnet))
        self.images = images

    def message(self, version):
        entries = list(self.annotations.items())
        random.shuffle(entries)
        annotations = field(12, [field(1, key) + field(2, value) for key, value in entries])
        beat = field(4, field(1, "Ready") + field(2, "True") + field(6, f"kubelet is posting ready status, {version}"))
        return field(1, self.head + field(6, str(version)) + self.tail + annotations) + self.spec + field(3, beat + self.images)


class HeartbeatServer:
    """`leases`: of the Nodes; those without a MAC have no annotations yet. `rate`: events a second on each watch, which may
    change at any time. `lifetime`: of a watch at most, in seconds."""

    pause = 0.01  # seconds between bundles of events

    def __init__(self, where, port, certificate, key, leases, rate, lifetime):
        images = b"".join(field(8, field(1, f"registry.example/component-{i:03d}@sha256:{i:064x}") + varint(2 << 3) + varint(12345678 + i))
                          for i in range(80))
        self.nodes = [Node(each, images) for each in leases]
        self.by_name = {node.name: node for node in self.nodes}
        self.beating = [node for node in self.nodes if node.annotations]
        self.rate, self.lifetime = rate, lifetime
        self.version = 1000
        self.sent = self.watches = self.lists = 0
        self.changes = []  # frames of patched Nodes, for every watch
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(certificate, key)
        self.loop = asyncio.new_event_loop()
        with where.entered():
            self.server = self.loop.run_until_complete(asyncio.start_server(self._serve, "0.0.0.0", port, ssl=tls))
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def close(self):
        asyncio.run_coroutine_threadsafe(self._end(), self.loop).result(5)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)

    async def _end(self):
        self.server.close()
        serving = asyncio.all_tasks() - {asyncio.current_task()}
        for each in serving:
            each.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    def _next(self, change, node):
        self.version += 1
        return frame(change, "Node", node.message(self.version))

    def _beat(self):
        """The Node of the next event."""
        return self.beating[random.randrange(len(self.beating))]

    def _bookmark(self, end_of_list=False):
        mark = field(12, field(1, "k8s.io/initial-events-end") + field(2, "true")) if end_of_list else b""
        return frame("BOOKMARK", "Node", field(1, field(6, str(self.version)) + mark))

    # ---- HTTP

    async def _serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                method, target, _ = head.split(" ", 2)
                length = next((int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length:")), 0)
                body = await reader.readexactly(length)
                url = urllib.parse.urlsplit(target)
                if method == "GET" and url.path == "/api/v1/nodes":
                    await self._watch(writer, dict(urllib.parse.parse_qsl(url.query)))
                    break
                status, answer = (200, self._patch(url.path.split("/")[4], json.loads(body))) if method == "PATCH" else (404, {})
                data = json.dumps(answer).encode()
                writer.write(f"HTTP/1.1 {status} .\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or this server ends
        finally:
            writer.close()

    def _patch(self, name, patch):
        node = self.by_name[name]
        for key, value in patch.get("metadata", {}).get("annotations", {}).items():
            if value is None:
                node.annotations.pop(key, None)
            else:
                node.annotations[key] = value
        self.changes.append(self._next("MODIFIED", node))
        return {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "annotations": node.annotations}}

    async def _watch(self, writer, query):
        async def send(data):
            writer.write(b"%x\r\n%b\r\n" % (len(data), data))
            await writer.drain()

        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.kubernetes.protobuf;stream=watch\r\nTransfer-Encoding: chunked\r\n\r\n")
        reported = len(self.changes)
        if query.get("sendInitialEvents") == "true":
            self.lists += 1
            for node in self.nodes:
                await send(self._next("ADDED", node))
            await send(self._bookmark(end_of_list=True))
        else:
            self.watches += 1
        now = marked = time.monotonic()
        end = now + min(self.lifetime, int(query.get("timeoutSeconds", "300")))
        due = 0.0
        while now < end:
            for change in self.changes[reported:]:
                await send(change)
            reported = len(self.changes)
            while due >= 1:
                await send(self._next("MODIFIED", self._beat()))
                due -= 1
                self.sent += 1
            if now - marked > 10:
                marked = now
                await send(self._bookmark())
            await asyncio.sleep(self.pause)
            before, now = now, time.monotonic()
            due += (now - before) * self.rate
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def leases(count):
    """Of `count` nodes that beat."""
    import ipaddress
    subnets = ipaddress.ip_network("10.244.0.0/14").subnets(new_prefix=24)
    return lease.crowd(count, subnets)
