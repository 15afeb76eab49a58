"""Pictures as numbers: sample pictures, a reader's own, and how a picture becomes a sequence of patches.

Every picture is square, and its values lie in 0 … 1 with two decimals, so that what is printed is the
value. Rows and columns of pixels and of patches are counted from 0, from the top left.

Source: Dosovitskiy et al. 2020 (arXiv 2010.11929), section 3.1: x_p of N × (P² · C) numbers.
"""

import functools
import hashlib
import importlib.util
import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attn_core.limits import MAX_PICTURE_BYTES, MAX_PICTURE_EDGE, MAX_PIXELS, MAX_SCANS

if TYPE_CHECKING:
    from PIL import Image

SIDE = 32  # pixels: recognisable, and each pixel still visible
SAMPLES = ("flower", "china")
CHANNELS = {1: ("",), 3: ("R", "G", "B")}

ALLOWED = (
    f"PNG, JPEG or WebP of at most {MAX_PICTURE_BYTES:,} bytes, {MAX_PIXELS:,} pixels "
    f"and {MAX_PICTURE_EDGE:,} pixels an edge"
)

Reason = Literal["too_many_bytes", "no_picture", "too_many_pixels", "damaged"]
Remark = Literal["turned", "cropped", "enlarged", "transparent", "animated"]


class PictureError(ValueError):
    """A file that cannot be used as a picture; `reason` says why in one word."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(f"{message}; allowed: {ALLOWED}")
        self.reason = reason


@dataclass(frozen=True)
class Picture:
    """A square picture, and what was done to the file it came from.

    `pixels` has one channel (grey) or three (red, green, blue). `width` and `height` are the file's,
    upright. `remarks`: turned as its EXIF tag says, cropped to its middle, enlarged, transparency put on
    white, the first picture of several.
    """

    pixels: Float[Tensor, "row column channel"]
    width: int
    height: int
    remarks: tuple[Remark, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Equal for equal pixels."""
        return hashlib.sha256(self.pixels.numpy().tobytes()).hexdigest()

    def image(self) -> "Image.Image":
        """The picture as Pillow has it."""
        return to_image(self.pixels)

    def in_grey(self) -> "Picture":
        """The same picture with one channel: 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601)."""
        if self.pixels.shape[-1] == 1:
            return self
        luma = torch.tensor([[0.299], [0.587], [0.114]], dtype=self.pixels.dtype)
        return replace(self, pixels=(self.pixels @ luma).round(decimals=2))


def to_image(pixels: Float[Tensor, "row column channel"]) -> "Image.Image":
    """Pixels as Pillow has them, a byte per value; a fourth channel is opacity."""
    from PIL import Image

    return Image.fromarray((pixels * 255).round().to(torch.uint8).squeeze(-1).numpy())


# Patches.


def to_patches(pixels: Float[Tensor, "row column channel"], patch_size: int) -> Float[Tensor, "patch number"]:
    """The picture's patches in reading order, each flattened: row by row, pixel by pixel, channel by channel.

    (rows · p, columns · p, channels) → (rows · columns, p · p · channels).

    Raises:
        ValueError: patch_size is below 1 or does not divide both edges.
    """
    height, width, channels = pixels.shape
    if patch_size < 1 or height % patch_size or width % patch_size:
        raise ValueError(f"patch_size must divide both edges, got {patch_size} and {height} × {width}")
    rows, columns = height // patch_size, width // patch_size
    cut = pixels.reshape(rows, patch_size, columns, patch_size, channels)
    return cut.transpose(1, 2).reshape(rows * columns, patch_size * patch_size * channels)


def from_patches(
    patches: Float[Tensor, "patch number"], patch_size: int, columns: int
) -> Float[Tensor, "row column channel"]:
    """The picture whose patches these are, `columns` of them side by side: to_patches undone.

    Raises:
        ValueError: the patches do not fill whole rows, or a patch does not hold whole pixels.
    """
    n_patches, n_numbers = patches.shape
    if columns < 1 or n_patches % columns:
        raise ValueError(f"columns must divide the number of patches, got {columns} and {n_patches}")
    if patch_size < 1 or n_numbers % patch_size**2:
        raise ValueError(f"patch_size² must divide a patch's numbers, got {patch_size}² and {n_numbers}")
    rows, channels = n_patches // columns, n_numbers // patch_size**2
    cut = patches.reshape(rows, columns, patch_size, patch_size, channels)
    return cut.transpose(1, 2).reshape(rows * patch_size, columns * patch_size, channels)


def patch_names(rows: int, columns: int) -> tuple[str, ...]:
    """Each patch's row and column, in reading order."""
    return tuple(f"({row},{column})" for row in range(rows) for column in range(columns))


def number_names(patch_size: int, channels: int) -> tuple[str, ...]:
    """Row, column and channel inside the patch of each number of a flattened patch.

    Raises:
        ValueError: there are neither one nor three channels.
    """
    if channels not in CHANNELS:
        raise ValueError(f"channels must be 1 or 3, got {channels}")
    return tuple(
        f"({row},{column}){channel}"
        for row in range(patch_size)
        for column in range(patch_size)
        for channel in CHANNELS[channels]
    )


# Sample pictures. They lie in scikit-learn's folder; importing it to read them would cost a second and 70 MB.


@dataclass(frozen=True)
class Digits:
    """1,797 handwritten digits of 8 × 8 pixels (Alpaydin and Kaynak 1998), as scikit-learn ships them.

    A file's value of 0 … 16 is divided by 16 and rounded to two decimals.
    """

    pixels: Float[Tensor, "digit 8 8"]
    labels: Int[Tensor, " digit"]


@functools.cache
def digits() -> Digits:
    """All the digits, read once."""
    import numpy as np

    table = torch.from_numpy(np.loadtxt(_scikit_learn("data", "digits.csv.gz"), delimiter=","))
    pixels = (table[:, :-1] / 16).round(decimals=2).reshape(-1, 8, 8)
    return Digits(pixels, table[:, -1].to(torch.int64))


def digit_picture(index: int) -> Picture:
    """One of the digits.

    Raises:
        ValueError: there is no such digit.
    """
    known = digits().pixels
    if not 0 <= index < len(known):
        raise ValueError(f"index must be 0 … {len(known) - 1}, got {index}")
    return Picture(known[index].unsqueeze(-1), *known.shape[1:])


@functools.cache
def sample_picture(name: str) -> Picture:
    """One of the photographs that scikit-learn ships, cropped and made as small as a reader's own.

    Raises:
        ValueError: there is no such photograph.
    """
    if name not in SAMPLES:
        raise ValueError(f"name must be one of {', '.join(SAMPLES)}, got {name!r}")
    return read_picture(_scikit_learn("images", f"{name}.jpg").read_bytes())


def _scikit_learn(folder: str, file: str) -> Path:
    """A file among scikit-learn's data sets, found without importing the package."""
    found = importlib.util.find_spec("sklearn")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("the sample pictures are part of scikit-learn, which is not installed")
    return Path(found.origin).parent / "datasets" / folder / file


# A reader's own picture.


def read_picture(data: bytes) -> Picture:
    """A PNG, JPEG or WebP file as a square picture of SIDE × SIDE pixels.

    The middle square is cut out, and each new pixel is the mean of the old ones whose centres it covers (a
    picture smaller than SIDE has its pixels repeated). Then transparency is put on white, the picture is
    turned as its EXIF tag says, and values are rounded to two decimals. Colour profiles are not applied.

    Raises:
        PictureError: the file is too large, no picture of these kinds, has too many pixels (checked before
            any is decoded), or is damaged.
    """
    if len(data) > MAX_PICTURE_BYTES:
        raise PictureError("too_many_bytes", f"the file has {len(data):,} bytes")
    decoder = _decoder(data)
    with _one_at_a_time:  # a class uploads at once: one picture at a time bounds the room
        with _reading():
            image = decoder(io.BytesIO(data))
        width, height = image.size
        if width * height > MAX_PIXELS or max(width, height) > MAX_PICTURE_EDGE:
            raise PictureError("too_many_pixels", f"the picture has {width:,} × {height:,} pixels")
        with _reading():
            small = _small_square(image)
            orientation = _orientation(image)  # a PNG may name it after its pixels
            pixels = _values(_turned(_on_white(small), orientation))
    remarks: dict[Remark, bool] = {
        "turned": orientation > 1,
        "cropped": width != height,
        "enlarged": min(width, height) < SIDE,
        "transparent": _is_transparent(small),
        "animated": getattr(image, "is_animated", False),
    }
    upright = (height, width) if orientation >= 5 else (width, height)
    return Picture(pixels, *upright, tuple(name for name, applies in remarks.items() if applies))


_one_at_a_time = threading.Lock()


@contextmanager
def _reading() -> Iterator[None]:
    """Whatever Pillow raises about the bytes of a stranger's file, its own limits included, means: damaged."""
    try:
        yield
    except Exception as error:
        raise PictureError("damaged", f"the file is damaged or cut off ({type(error).__name__})") from error


def _decoder(data: bytes) -> Callable[[io.BytesIO], "Image.Image"]:
    """Pillow's reader for the kind of file that the first bytes promise; no other reader sees the file."""
    from PIL.JpegImagePlugin import JpegImageFile
    from PIL.PngImagePlugin import PngImageFile
    from PIL.WebPImagePlugin import WebPImageFile

    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return PngImageFile
    if data.startswith(b"\xff\xd8\xff"):
        if (n_scans := data.count(b"\xff\xda")) > MAX_SCANS:
            raise PictureError("damaged", f"the file holds its picture {n_scans:,} times over")
        return JpegImageFile
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return WebPImageFile
    raise PictureError("no_picture", "the file is empty" if not data else "the file is no PNG, JPEG or WebP")


def _small_square(image: "Image.Image") -> "Image.Image":
    """The middle square at SIDE × SIDE: each pixel the mean of what it covers."""
    from PIL.Image import Resampling

    image.load()
    image = _plain_mode(image)
    width, height = image.size
    edge = min(width, height)
    left, top = (width - edge) / 2, (height - edge) / 2
    return image.resize((SIDE, SIDE), Resampling.BOX, box=(left, top, left + edge, top + edge))


def _plain_mode(image: "Image.Image") -> "Image.Image":
    """Grey, colour, or either with transparency, a byte per value: what means can be taken of."""
    from PIL import Image

    if image.mode.startswith("I"):  # 16 bits per value
        import numpy as np

        # In whole numbers: floating point would take several times the room of the picture itself.
        return Image.fromarray(((np.asarray(image).clip(0, 65535).astype(np.uint32) + 128) // 257).astype(np.uint8))
    if image.has_transparency_data:
        return image if image.mode in ("LA", "RGBA") else image.convert("RGBA")
    if image.mode in ("L", "RGB"):
        return image
    return image.convert("L" if image.mode == "1" else "RGB")


def _orientation(image: "Image.Image") -> int:
    """EXIF's orientation, 1 … 8: which way the camera was held; 1 where nothing sensible is said."""
    found = image.getexif().get(0x0112)
    return found if isinstance(found, int) and 1 <= found <= 8 else 1


def _turned(image: "Image.Image", orientation: int) -> "Image.Image":
    """The picture turned or mirrored as its orientation asks."""
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    return image.transpose(turns[orientation]) if orientation in turns else image


def _is_transparent(image: "Image.Image") -> bool:
    return image.mode in ("LA", "RGBA") and image.getchannel("A").getextrema() != (255, 255)


def _on_white(image: "Image.Image") -> "Image.Image":
    """Without transparency: what shows through is white."""
    from PIL import Image

    if image.mode not in ("LA", "RGBA"):
        return image
    opaque = image.convert("RGBA")
    whole = Image.alpha_composite(Image.new("RGBA", opaque.size, "white"), opaque)
    return whole.convert("L" if image.mode == "LA" else "RGB")


def _values(image: "Image.Image") -> Float[Tensor, "row column channel"]:
    """Bytes 0 … 255 as 0 … 1, rounded to two decimals."""
    numbers = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).to(torch.float64)
    return (numbers / 255).round(decimals=2).reshape(image.height, image.width, -1)
