"""Uploaded files of every kind, damaged in every way: a picture of finite numbers, or a refusal that has a reason."""

import io
import struct
import zlib
from typing import get_args

import pytest
from hypothesis import strategies as st
from PIL import Image

from attn_core.images import SIDE, Picture, PictureError, Reason, read_picture
from attn_core.lesson import Lesson
from attn_core.limits import MAX_PICTURE_BYTES
from attn_core.picture_thread import MAX_CUTS, run_picture
from tests.attn_core.pictures import encoded, gradient, png_claiming, webp_claiming
from tests.hostile.cases import cases


def sixteen_bits() -> Image.Image:
    return Image.frombytes("I;16", (40, 24), bytes(range(240)) * 8)


def turned(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(gradient(40, 24), "JPEG", exif=exif)


def animated(kind: str) -> bytes:
    frames = [Image.new("RGB", (24, 24), (shade, 9, 99)) for shade in (0, 90, 200)]
    return encoded(frames[0], kind, save_all=True, append_images=frames[1:])


def png_of(bits: int, colour: int, depth: int) -> bytes:
    """A PNG whose header says one thing and whose pixels may be another."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    body = chunk(b"IDAT", zlib.compress(bytes(1200))) + chunk(b"IEND", b"")
    header = struct.pack(">IIBBBBB", 8, 8, bits, colour, 0, 0, depth % 2)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + body


PICTURE = gradient(40, 24)
FILES = (
    *(encoded(PICTURE.convert(mode)) for mode in ("1", "L", "LA", "P", "RGB", "RGBA")),
    encoded(sixteen_bits()),
    *(encoded(PICTURE.convert(mode), "JPEG") for mode in ("L", "RGB", "CMYK")),
    encoded(PICTURE, "JPEG", progressive=True),
    *(encoded(PICTURE.convert(mode), "WEBP", lossless=True) for mode in ("RGB", "RGBA")),
    *(turned(orientation) for orientation in (0, 1, 3, 6, 8, 9)),
    *(animated(kind) for kind in ("PNG", "WEBP", "GIF")),
    *(encoded(PICTURE, kind) for kind in ("BMP", "TIFF", "ICO", "PPM", "TGA")),
    *(png_claiming(width, height) for width, height in ((60_000, 60_000), (1, 20_001), (0, 5), (4_000, 4_000))),
    webp_claiming(12_000),
    *(b"", b"GIF89a", b"%PDF-1.7", b"<svg onload=alert(1)>", b"PK\x03\x04", b"\x80\x05\x95cos\nsystem\n", b"\x93NUMPY"),
)
SIGNS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF\x00\x00\x00\x00WEBP")


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A file cut off, with bytes changed, put behind another's first bytes, with a tail, or as it is."""
    data = draw(st.sampled_from(FILES))
    how = draw(st.sampled_from(("whole", "cut", "flipped", "dressed", "tail", "made")))
    if how == "made":
        return png_of(
            draw(st.sampled_from((1, 2, 4, 8, 16))), draw(st.sampled_from((0, 2, 3, 4, 6))), draw(st.integers(0, 1))
        )
    if how == "cut":
        return data[: draw(st.integers(0, len(data)))]
    if how == "dressed":
        return draw(st.sampled_from(SIGNS)) + data[draw(st.integers(0, 12)) :]
    if how == "tail":
        return data + draw(st.binary(max_size=200))
    changed = bytearray(data)
    if how == "flipped" and changed:
        for place, byte in draw(
            st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=12)
        ):
            changed[place % len(changed)] = byte
    return bytes(changed)


def picture_or_refusal(data: bytes) -> Picture | PictureError:
    try:
        return read_picture(data)
    except PictureError as error:
        return error


@cases(13, data=damaged(), cuts=st.integers(1, MAX_CUTS))
def test_every_file_is_a_picture_or_is_refused(data, cuts):
    picture = picture_or_refusal(data)
    if isinstance(picture, PictureError):
        assert picture.reason in get_args(Reason)
        assert len(str(picture)) < 300
        return
    assert picture.pixels.shape[:2] == (SIDE, SIDE)
    assert 0 <= picture.pixels.min() <= picture.pixels.max() <= 1
    trace = run_picture(picture, cuts, Lesson())
    assert trace.attention.output.isfinite().all()


def upload(page, data: bytes, name: str):
    page = page.file_uploader(key="upload").set_value((name, data, "image/png")).run()
    assert not page.exception
    return page


NAMES = (
    "../../etc/passwd.png",
    "CON.png",
    "=1+1.png",
    "<img src=x onerror=alert(1)>.png",
    "x" * 300 + ".png",
)


def test_files_on_the_page(open_page):
    """Good and bad ones in turn, under names that lead elsewhere: told, and the page stands.

    A name that only a hand-made request can have (with a null byte, or of another kind) is refused by Streamlit.
    """
    page = open_page("image_patches", lang="en", picture="own")
    for place, data in enumerate((*FILES[::4], bytes(MAX_PICTURE_BYTES + 1))):
        page = upload(page, data, NAMES[place % len(NAMES)])
        refused = isinstance(picture_or_refusal(data), PictureError)
        assert ["Allowed: PNG, JPEG or WebP" in error.value for error in page.error] == [True] * refused


@pytest.mark.parametrize("data", [b"\x80\x04\x95", b"PK\x03\x04", b"\x93NUMPY\x01\x00"], ids=["pickle", "zip", "npy"])
def test_what_would_run_is_no_picture(data):
    """Neither bare nor behind the first bytes of a picture."""
    for sign in (b"", *SIGNS):
        with pytest.raises(PictureError):
            read_picture(sign + data + io.BytesIO(bytes(64)).getvalue())
