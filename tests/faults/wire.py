"""A wire to a server that can be cut and mended."""

import contextlib
import socket
import threading


class Wire:
    """Passes on what comes to `address`. Once cut, every connection is gone, and new ones are refused until mended."""

    def __init__(self, port: int) -> None:
        self._far_port, self._ends = port, set[socket.socket]()
        self._listen(0)
        self._port = self._listener.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}"

    def mend(self) -> None:
        self._listen(self._port)

    def cut(self) -> None:
        _end(self._listener)
        self._listening.join()
        while self._ends:
            _end(self._ends.pop())

    def _listen(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self._listening = threading.Thread(target=self._accept, daemon=True)
        self._listening.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # cut
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._far_port))
                self._ends |= {near, far}
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=_carry, args=ends, daemon=True).start()


def _carry(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):  # cut, or one side has gone
        while data := source.recv(65536):
            target.sendall(data)
    for end in (source, target):
        _end(end)


def _end(of: socket.socket) -> None:
    """Ends it in whatever thread waits for it, too."""
    with contextlib.suppress(OSError):
        of.shutdown(socket.SHUT_RDWR)
    of.close()
