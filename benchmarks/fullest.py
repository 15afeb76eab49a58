"""What a class can make the server hold: 100 sessions, each with as much as one may have.

    python -m benchmarks.fullest

Each session has the longest texts, as many tokens and columns as there may be, a drawn mask, as many edits as a link
holds, and a picture of its own as large as an upload may be, and keeps its pages open. Linux only.
"""

import argparse
import contextlib
import http.cookiejar
import urllib.request
from http.client import HTTPResponse
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileURLs, FileURLsRequest, UploadedFileInfo
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from attn_core.limits import MAX_CHARACTERS, MAX_LINK, MAX_PICTURE_BYTES, MAX_SIZE, MAX_TOKENS
from benchmarks.session import ROOT, Server, Tab, opened, serving

SESSIONS = 100
PAGES = ("image_patches", "masks_positions", "multi_head", "weighted_sum")
_COOKIE = "_streamlit_xsrf"


def fullest_lesson(number: int) -> str:
    """A link as long as one may be, another for each session."""
    words = " ".join(f"w{number}x{place}" for place in range(MAX_TOKENS)).ljust(MAX_CHARACTERS, "y")
    query = {
        "lang": "en",
        "text": words,
        "second_text": words[::-1],
        "d_model": str(MAX_SIZE),
        "n_heads": str(MAX_SIZE),
        "mask": "drawn",
        "hidden": " ".join(
            f"{row}:{','.join(map(str, range(row % 2, MAX_TOKENS - 1, 2)))}" for row in range(MAX_TOKENS)
        ),
        "positions": "learned",
        "seed": str(number),
        "picture": "own",
    }
    edits: list[str] = []
    while len(urlencode(query | {"edits": " ".join(edits)})) < MAX_LINK - 60:
        edits.append(f"W_Q[{len(edits) // MAX_SIZE % MAX_SIZE},{len(edits) % MAX_SIZE}]={len(edits) / 1000:.3f}")
    return urlencode(query | {"edits": " ".join(edits)})


def upload(tab: Tab, data: bytes, name: str = "picture.png") -> None:
    """Puts a file into the page's field as a browser does: asks where to, sends it, and says so."""
    request = FileURLsRequest(request_id="1", file_names=[name], session_id="")
    tab.connection.send(BackMsg(file_urls_request=request).SerializeToString())
    urls = _answered(tab)
    _put(tab.server, urls, data, name)
    field = tab._only("file_uploader", "upload")
    state = WidgetState(id=field.id)
    info = UploadedFileInfo(file_id=urls.file_id, name=name, size=len(data), file_urls=urls)
    state.file_uploader_state_value.uploaded_file_info.append(info)
    tab.answer(state)


def _answered(tab: Tab) -> FileURLs:
    while True:
        message = ForwardMsg.FromString(tab.connection.recv(timeout=60))
        if message.HasField("file_urls_response"):
            return message.file_urls_response.file_urls[0]


def _put(server: Server, urls: FileURLs, data: bytes, name: str) -> None:
    cookies = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies))
    browser.open(f"{server.address}/_stcore/health").close()
    token = next((cookie.value for cookie in cookies if cookie.name == _COOKIE), None) or ""
    edge = "edge-of-a-part"
    head = (
        f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: image/png\r\n\r\n'
    )
    request = urllib.request.Request(
        server.address + urls.upload_url,
        head.encode() + data + f"\r\n--{edge}--\r\n".encode(),
        {"Content-Type": f"multipart/form-data; boundary={edge}", "X-Xsrftoken": token},
        method="PUT",
    )
    answer: HTTPResponse
    with browser.open(request) as answer:
        assert answer.status == 204


def largest_picture() -> bytes:
    """A small picture with as much behind its end as a request may hold: the limit counts its frame, too."""
    data = (ROOT / "pages" / "icon.png").read_bytes()
    return data + bytes(MAX_PICTURE_BYTES - 1000 - len(data))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    n_sessions = parser.parse_args().sessions
    picture = largest_picture()
    with serving(ROOT / "app.py") as server, contextlib.ExitStack() as open_tabs:
        for page in PAGES:
            with opened(server, page):
                pass
        print(f"{server.megabytes():7.0f} MB with nobody there", flush=True)
        for number in range(n_sessions):
            tab = open_tabs.enter_context(opened(server, PAGES[0], fullest_lesson(number)))
            upload(tab, picture)
            if number in (0, 9, 49) or number == n_sessions - 1:
                print(f"{server.megabytes():7.0f} MB with {number + 1} sessions and their pictures", flush=True)


if __name__ == "__main__":
    main()
