"""A student's browser without its screen: cookies, a websocket, uploads."""

import http.client
from contextlib import ExitStack, closing, suppress
from http.cookies import SimpleCookie

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from benchmarks.session import LONGEST_WAIT, Server, Tab

_FILE = b'--x\r\nContent-Disposition: form-data; name="file"; filename="dot.png"\r\n\r\n%s\r\n--x--\r\n'


class SessionTab(Tab):
    """A tab that knows its session's name, as browsers do: they send it with uploads, and when they come back."""

    session_id = ""

    def take(self, data: bytes) -> bool:
        message = ForwardMsg.FromString(data)
        if message.HasField("new_session"):
            self.session_id = message.new_session.initialize.session_id
        return super().take(data)


class Student:
    """One student on one page of the app, by its link; the stack closes the connections."""

    def __init__(self, stack: ExitStack, address: str, page: str, query: str) -> None:
        self._stack, self._address, self._page, self._query = stack, address, page, query
        self.cookies: dict[str, str] = {}
        self.tab: SessionTab | None = None
        self.request("GET", f"/{page}?{query}")
        self.request("GET", "/_stcore/health")  # which also sets the cookie against forged requests
        self.connect()

    @property
    def replica(self) -> str:
        """The replica that the cookie names."""
        return self.cookies["replica"]

    def connect(self) -> None:
        """Opens the websocket as a browser does for the first time or again, and runs the page."""
        known = self.tab.session_id if self.tab else ""
        self._query = self.tab.query if self.tab else self._query
        socket = connect(
            Server(f"http://{self._address}").stream,
            subprotocols=["streamlit", "PLACEHOLDER", known] if known else ["streamlit"],
            additional_headers={"Cookie": self._sent_cookies()},
            max_size=None,
            ping_interval=None,
        )
        connection = self._stack.enter_context(socket)
        self._receive_cookies(connection.response.headers.get_all("Set-Cookie"))
        server = Server(f"http://{self._address}")
        self.tab = SessionTab(server.address, self._page, self._query, server=server, connection=connection)
        self.tab.answer()

    def wait_until_lost(self) -> None:
        """Returns once the connection was closed from the other side."""
        with suppress(ConnectionClosed):
            while True:
                self.tab.connection.recv(timeout=LONGEST_WAIT)

    def upload(self, address: str = "", content: bytes = b"dot") -> int:
        """Sends a file for the session; the status: 204 where the session lives, 400 elsewhere."""
        headers = {"X-Xsrftoken": self.cookies["_streamlit_xsrf"], "Content-Type": "multipart/form-data; boundary=x"}
        path = f"/_stcore/upload_file/{self.tab.session_id}/dot"
        return self.request("PUT", path, _FILE % content, headers, address).status

    def charts(self) -> dict[tuple[int, ...], str]:
        """Every chart of the page with all its numbers."""
        return {path: it.plotly_chart.spec for path, it in self.tab.elements.items() if it.HasField("plotly_chart")}

    def request(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None, address: str = ""
    ) -> http.client.HTTPResponse:
        """An answer of nginx, or of a replica asked past it; read to its end."""
        with closing(http.client.HTTPConnection(address or self._address, timeout=LONGEST_WAIT)) as connection:
            connection.request(method, path, body or None, {"Cookie": self._sent_cookies(), **(headers or {})})
            answer = connection.getresponse()
            answer.read()
        self._receive_cookies(answer.headers.get_all("Set-Cookie") or [])
        return answer

    def _sent_cookies(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def _receive_cookies(self, lines: list[str]) -> None:
        for line in lines:
            self.cookies |= {name: it.value for name, it in SimpleCookie(line).items()}
