"""A TCP cable between an engine and the server that can be cut: nothing passes, nothing is closed."""

from __future__ import annotations

import contextlib
import socket
import threading


class Cable:
    """Listens on 127.0.0.1 and passes bytes on to `port` there until it is cut."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._cut = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._cut.set()

    def close(self) -> None:
        self._listener.close()
        for each in self._sockets:
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._sockets.append(near)
                if self._cut.is_set():
                    continue  # open, and silent
                far = socket.create_connection(("127.0.0.1", self._target))
                self._sockets.append(far)
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self._cut.is_set():
                    return
                target.sendall(data)
            if not self._cut.is_set():
                target.shutdown(socket.SHUT_WR)
