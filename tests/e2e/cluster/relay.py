"""What listens on a node's 127.0.0.1 and carries every connection to a server: rke2's load balancer, or a proxy."""

import contextlib
import socket
import threading


class Relay:
    """Open until its end; connections are refused then."""

    def __init__(self, where, port, server, server_port=6443):
        self.where, self.server = where, (server, server_port)
        with where.entered():
            self.listener = socket.create_server(("127.0.0.1", port))
        self.sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self.listener.accept()
                self.sockets.append(client)
                try:
                    with self.where.entered():
                        server = socket.create_connection(self.server)
                except OSError:  # the server is away: so is this connection
                    client.close()
                    continue
                self.sockets.append(server)
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    @staticmethod
    def _carry(one, other):
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in [self.listener, *self.sockets]:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
