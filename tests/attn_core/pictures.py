"""Picture files for the tests, made on the spot."""

import base64
import io
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    """The picture as a file."""
    target = io.BytesIO()
    image.save(target, kind, **options)
    return target.getvalue()


def gradient(width: int, height: int, *, channels: int = 3, seed: int = 0) -> Image.Image:
    """A picture that differs from its every turned and mirrored self: noise, coarse enough for JPEG."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (4, 4, channels), dtype=np.uint8)
    return Image.fromarray(coarse.squeeze()).resize((width, height), Image.Resampling.BICUBIC)


def colours_of(source: str, mode: str = "RGB") -> np.ndarray:
    """The colours, 0 … 255, of a picture that is its own address."""
    kind, _, data = source.partition(",")
    assert kind == "data:image/png;base64"
    return np.array(Image.open(io.BytesIO(base64.b64decode(data))).convert(mode))


def png_claiming(width: int, height: int) -> bytes:
    """A few bytes of PNG that promise any number of black pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = zlib.compress(bytes(10_000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def webp_claiming(edge: int) -> bytes:
    """A small animated WebP whose canvas is said to be huge."""
    frames = [Image.new("RGB", (16, 16), (shade, 0, 0)) for shade in (0, 99)]
    data = bytearray(encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True))
    data[24:30] = (edge - 1).to_bytes(3, "little") * 2
    return bytes(data)
