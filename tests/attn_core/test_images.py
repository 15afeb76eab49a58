"""Pictures and patches: by hand, round trips, every way a file can be encoded, and every way it can be bad."""

import io
import itertools
import random
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageOps
from torch import Tensor
from torch.testing import assert_close

from attn_core.images import (
    SAMPLES,
    SIDE,
    Picture,
    PictureError,
    digit_picture,
    digits,
    from_patches,
    number_names,
    patch_names,
    read_picture,
    sample_picture,
    to_patches,
)
from attn_core.limits import MAX_PICTURE_BYTES, MAX_PICTURE_EDGE, MAX_PIXELS
from tests.attn_core.pictures import encoded, gradient, png_claiming, webp_claiming

BYTE = 1 / 255 + 0.01  # what rounding to a byte here or there, then to two decimals, may change


def close(found: Tensor, expected: Image.Image, *, within: float = BYTE) -> None:
    """The pixels are those of a picture of the same size."""
    numbers = torch.from_numpy(np.array(expected)).double() / 255
    numbers = numbers if numbers.ndim == 3 else numbers[:, :, None]
    assert_close(found, numbers, atol=within, rtol=0)


# Patches.

FOUR_BY_FOUR = torch.tensor(
    [[11, 12, 13, 14], [21, 22, 23, 24], [31, 32, 33, 34], [41, 42, 43, 44]], dtype=torch.float64
)


def test_four_by_four_by_hand():
    assert to_patches(FOUR_BY_FOUR[:, :, None], 2).tolist() == [
        [11, 12, 21, 22],
        [13, 14, 23, 24],
        [31, 32, 41, 42],
        [33, 34, 43, 44],
    ]
    assert patch_names(2, 2) == ("(0,0)", "(0,1)", "(1,0)", "(1,1)")
    assert number_names(2, 1) == ("(0,0)", "(0,1)", "(1,0)", "(1,1)")


def test_channels_stand_side_by_side():
    pixels = torch.stack([FOUR_BY_FOUR, FOUR_BY_FOUR + 100, FOUR_BY_FOUR + 200], dim=-1)
    assert to_patches(pixels, 2)[1].tolist() == [13, 113, 213, 14, 114, 214, 23, 123, 223, 24, 124, 224]
    assert number_names(2, 3)[:4] == ("(0,0)R", "(0,0)G", "(0,0)B", "(0,1)R")


sizes = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.sampled_from([1, 3]))


def counted(rows: int, columns: int, patch_size: int, channels: int) -> Tensor:
    """A picture in which every number is another."""
    shape = rows * patch_size, columns * patch_size, channels
    return torch.arange(float(np.prod(shape)), dtype=torch.float64).reshape(shape)


@given(sizes)
def test_patches_make_the_same_picture_again(size):
    rows, columns, patch_size, _ = size
    pixels = counted(*size)
    patches = to_patches(pixels, patch_size)
    assert patches.shape == (rows * columns, pixels.numel() // (rows * columns))
    assert torch.equal(from_patches(patches, patch_size, columns), pixels)


@given(sizes)
def test_patches_against_loops(size):
    rows, columns, patch_size, channels = size
    pixels, patches = counted(*size), to_patches(counted(*size), patch_size)
    for row, column in itertools.product(range(rows), range(columns)):
        expected = [
            float(pixels[row * patch_size + y, column * patch_size + x, channel])
            for y in range(patch_size)
            for x in range(patch_size)
            for channel in range(channels)
        ]
        assert patches[row * columns + column].tolist() == expected


@given(sizes)
def test_every_patch_and_every_number_has_a_name_of_its_own(size):
    rows, columns, patch_size, channels = size
    patches = to_patches(counted(*size), patch_size)
    for names, count in zip(
        (patch_names(rows, columns), number_names(patch_size, channels)), patches.shape, strict=True
    ):
        assert len(set(names)) == len(names) == count


@pytest.mark.parametrize("size", [0, -2, 3, 8])
def test_a_patch_size_that_does_not_fit(size):
    with pytest.raises(ValueError, match=rf"^patch_size must divide both edges, got {size} and 4 × 6$"):
        to_patches(torch.zeros(4, 6, 1), size)


def test_patches_that_make_no_picture():
    with pytest.raises(ValueError, match=r"^columns must divide the number of patches, got 2 and 3$"):
        from_patches(torch.zeros(3, 4), 2, 2)
    with pytest.raises(ValueError, match=r"^columns must divide the number of patches, got 0 and 3$"):
        from_patches(torch.zeros(3, 4), 2, 0)
    with pytest.raises(ValueError, match=r"^patch_size² must divide a patch's numbers, got 2² and 6$"):
        from_patches(torch.zeros(4, 6), 2, 2)
    with pytest.raises(ValueError, match=r"^channels must be 1 or 3, got 2$"):
        number_names(2, 2)


# The pictures that come with scikit-learn.


def test_digits_are_scikit_learn_s():
    from sklearn.datasets import load_digits

    theirs, ours = load_digits(), digits()
    assert_close(ours.pixels, torch.from_numpy(theirs.images / 16), atol=0.005 + 1e-12, rtol=0)
    assert torch.equal(ours.labels, torch.from_numpy(theirs.target))
    assert torch.equal(ours.pixels, ours.pixels.round(decimals=2))


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_scikit_learn_s(name):
    from sklearn.datasets import load_sample_image

    image = Image.fromarray(load_sample_image(f"{name}.jpg"))
    left = (image.width - image.height) / 2
    box = (left, 0, left + image.height, image.height)
    picture = sample_picture(name)
    close(picture.pixels, image.resize((SIDE, SIDE), Image.Resampling.BOX, box=box))
    assert (picture.width, picture.height, picture.remarks) == (640, 427, ("cropped",))


def test_one_digit():
    picture = digit_picture(7)
    assert torch.equal(picture.pixels[:, :, 0], digits().pixels[7])
    assert (picture.pixels.shape, picture.width, picture.height, picture.remarks) == ((8, 8, 1), 8, 8, ())


def test_samples_that_do_not_exist():
    with pytest.raises(ValueError, match=r"^index must be 0 … 1796, got 1797$"):
        digit_picture(1797)
    with pytest.raises(ValueError, match=r"^index must be 0 … 1796, got -1$"):
        digit_picture(-1)
    with pytest.raises(ValueError, match=r"^name must be one of flower, china, got 'cat'$"):
        sample_picture("cat")


def test_what_is_loaded_and_when():
    """Nothing until a picture is read, and scikit-learn never."""
    report = "print(*sorted({'PIL', 'safetensors', 'scipy', 'sklearn'} & sys.modules.keys()))"
    steps = "import sys, attn_core.images as i", report, "i.sample_picture('china'), i.digits()", report
    done = subprocess.run([sys.executable, "-c", "; ".join(steps)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["", "PIL"]


# A reader's own picture: what is done to it.


def test_means_by_hand():
    """A picture of twice the size: each new pixel is the mean of four."""
    large = np.random.default_rng(0).integers(0, 256, (2 * SIDE, 2 * SIDE), dtype=np.uint8)
    picture = read_picture(encoded(Image.fromarray(large)))
    means = large.reshape(SIDE, 2, SIDE, 2).mean((1, 3)) / 255
    assert picture.pixels.shape == (SIDE, SIDE, 1)
    assert_close(picture.pixels[:, :, 0], torch.from_numpy(means), atol=BYTE, rtol=0)
    assert torch.equal(picture.pixels, picture.pixels.round(decimals=2))
    assert picture.remarks == ()


@pytest.mark.parametrize(("width", "height"), [(3 * SIDE, SIDE), (SIDE, 3 * SIDE), (SIDE + 1, SIDE)])
def test_the_middle_square_is_cut_out(width, height):
    image = gradient(width, height)
    left, top = (width - SIDE) / 2, (height - SIDE) / 2
    picture = read_picture(encoded(image))
    expected = image.resize((SIDE, SIDE), Image.Resampling.BOX, box=(left, top, left + SIDE, top + SIDE))
    close(picture.pixels, expected)
    assert (picture.width, picture.height, picture.remarks) == (width, height, ("cropped",))


def test_a_small_picture_is_enlarged():
    dots = np.array([[0, 255], [51, 102]], dtype=np.uint8)
    picture = read_picture(encoded(Image.fromarray(dots)))
    assert picture.remarks == ("enlarged",)
    half = SIDE // 2
    for row, column in itertools.product(range(2), range(2)):
        part = picture.pixels[row * half : (row + 1) * half, column * half : (column + 1) * half]
        assert part.unique().tolist() == [round(dots[row, column] / 255, 2)]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation(orientation, kind):
    image = gradient(3 * SIDE, 2 * SIDE)
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(image, kind, exif=exif, **({"quality": 100} if kind == "JPEG" else {"lossless": True}))
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    picture = read_picture(data)
    assert (picture.width, picture.height) == upright.size == ((64, 96) if orientation >= 5 else (96, 64))
    assert picture.remarks == (("turned",) if orientation > 1 else ()) + ("cropped",)
    close(picture.pixels, read_as_plain_png(upright))


def read_as_plain_png(image: Image.Image) -> Image.Image:
    """What read_picture makes of a picture that needs no turning, as a picture."""
    plain = Image.fromarray(np.array(image))
    numbers = read_picture(encoded(plain)).pixels.mul(255).round().to(torch.uint8).numpy()
    return Image.fromarray(numbers.squeeze())


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_an_orientation_that_does_not_exist(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    assert read_picture(encoded(gradient(SIDE, SIDE), "JPEG", exif=exif)).remarks == ()


def test_transparency_is_put_on_white():
    """Alpha 0, 51 and 255 over black: 255 · (1 − alpha)."""
    alpha = np.repeat(np.array([0, 51, 255, 255], dtype=np.uint8), SIDE // 4)[None].repeat(SIDE, 0)
    image = Image.new("RGB", (SIDE, SIDE))
    image.putalpha(Image.fromarray(alpha))
    picture = read_picture(encoded(image))
    assert picture.remarks == ("transparent",)
    assert picture.pixels.shape == (SIDE, SIDE, 3)
    assert picture.pixels[0, :: SIDE // 4, 0].tolist() == [1.0, 0.8, 0.0, 0.0]


def test_what_is_not_seen_does_not_colour_what_is():
    """Means are taken of what shows: transparent green beside opaque red leaves no green."""
    columns = np.zeros((2 * SIDE, 2 * SIDE, 4), dtype=np.uint8)
    columns[:, 0::2] = (255, 0, 0, 255)
    columns[:, 1::2] = (0, 255, 0, 0)
    picture = read_picture(encoded(Image.fromarray(columns)))
    assert_close(picture.pixels[0, 0], torch.tensor([1.0, 0.5, 0.5], dtype=torch.float64), atol=0.01, rtol=0)


@pytest.mark.parametrize("mode", ["LA", "P", "RGB", "L"])
def test_transparency_of_every_kind(mode):
    if mode == "LA":
        data = encoded(Image.merge("LA", [Image.new("L", (SIDE, SIDE), 0), Image.new("L", (SIDE, SIDE), 0)]))
    else:
        transparent = (0, 0, 0) if mode == "RGB" else 0
        data = encoded(Image.new(mode, (SIDE, SIDE)), transparency=transparent)
    picture = read_picture(data)
    assert picture.remarks == ("transparent",)
    assert picture.pixels.unique().tolist() == [1.0]


def test_an_alpha_channel_that_hides_nothing_goes_unsaid():
    image = gradient(SIDE, SIDE).convert("RGBA")
    picture = read_picture(encoded(image))
    assert picture.remarks == ()
    close(picture.pixels, image.convert("RGB"))


def test_the_first_picture_of_several():
    for kind in ("PNG", "WEBP"):
        frames = [gradient(SIDE, SIDE, seed=seed) for seed in (0, 1)]
        options = {"lossless": True} if kind == "WEBP" else {}
        picture = read_picture(encoded(frames[0], kind, save_all=True, append_images=frames[1:], **options))
        assert picture.remarks == ("animated",)
        close(picture.pixels, frames[0])


def test_sixteen_bits():
    deep = np.linspace(0, 65535, SIDE).astype(np.uint16)[None].repeat(SIDE, 0)
    picture = read_picture(encoded(Image.fromarray(deep)))
    assert picture.pixels.shape == (SIDE, SIDE, 1)
    assert_close(picture.pixels[0, :, 0], torch.linspace(0, 1, SIDE, dtype=torch.float64), atol=BYTE, rtol=0)


def test_inks():
    """Cyan, magenta, yellow and black, as printers' JPEGs have them."""
    image = gradient(SIDE, SIDE).convert("CMYK")
    data = encoded(image, "JPEG", quality=100)
    assert Image.open(io.BytesIO(data)).mode == "CMYK"
    close(read_picture(data).pixels, image.convert("RGB"), within=0.06)


def test_palettes_and_single_bits():
    image = gradient(SIDE, SIDE)
    palette = image.quantize(16)
    close(read_picture(encoded(palette)).pixels, palette.convert("RGB"))
    bits = image.convert("1")
    picture = read_picture(encoded(bits))
    assert picture.pixels.shape == (SIDE, SIDE, 1)
    close(picture.pixels, bits.convert("L"))


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
def test_grey_files(kind):
    image = gradient(SIDE, SIDE, channels=1)
    picture = read_picture(encoded(image, kind, quality=100))
    assert picture.pixels.shape == (SIDE, SIDE, 1 if kind == "JPEG" else 3), "WebP knows colour only"
    close(picture.in_grey().pixels, image, within=0.03)


def test_progressive_and_interlaced():
    image = gradient(100, 100)
    plain = read_picture(encoded(image, "JPEG", quality=95))
    progressive = read_picture(encoded(image, "JPEG", quality=95, progressive=True))
    assert_close(progressive.pixels, plain.pixels, atol=0.02, rtol=0)


def test_a_photograph_of_a_phone():
    """4032 × 3024, held upright."""
    image = gradient(4032, 3024)
    exif = Image.Exif()
    exif[0x0112] = 6
    picture = read_picture(encoded(image, "JPEG", quality=80, exif=exif))
    box = (504, 0, 3528, 3024)
    expected = image.resize((SIDE, SIDE), Image.Resampling.BOX, box=box).transpose(Image.Transpose.ROTATE_270)
    close(picture.pixels, expected, within=0.03)
    assert (picture.width, picture.height, picture.remarks) == (3024, 4032, ("turned", "cropped"))


def test_grey_by_hand():
    colours = torch.tensor([[[1.0, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 1, 1]]], dtype=torch.float64)
    grey = Picture(colours, 2, 2).in_grey()
    assert grey.pixels.tolist() == [[[0.3], [0.59]], [[0.11], [1.0]]]
    assert grey.in_grey() is grey


def test_the_data_are_not_kept():
    data = bytearray(encoded(gradient(SIDE, SIDE)))
    picture = read_picture(bytes(data))
    before = picture.pixels.clone()
    data[:] = bytes(len(data))
    assert torch.equal(picture.pixels, before)


# Bad files.

ALLOWED = "; allowed: PNG, JPEG or WebP of at most 5,242,880 bytes, 16,000,000 pixels and 20,000 pixels an edge"
PNG, JPEG, WEBP = (encoded(gradient(90, 90), kind) for kind in ("PNG", "JPEG", "WEBP"))


def refused(data: bytes) -> PictureError:
    with pytest.raises(PictureError) as caught:
        read_picture(data)
    assert str(caught.value).endswith(ALLOWED)
    return caught.value


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x",
        b"hello, I am a picture\n" * 99,
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%PDF-1.7",
        b"PK\x03\x04",
        encoded(gradient(9, 9), "GIF"),
        encoded(gradient(9, 9), "BMP"),
        encoded(gradient(9, 9), "TIFF"),
        encoded(gradient(9, 9), "ICO"),
        b"RIFF\x00\x00\x00\x00WAVE",
        b"\x80\x05\x95",
        PNG[1:],
    ],
    ids=lambda data: repr(data[:6]),
)
def test_what_is_no_picture(data):
    error = refused(data)
    assert error.reason == "no_picture"
    assert str(error) == ("the file is no PNG, JPEG or WebP" if data else "the file is empty") + ALLOWED


def test_a_file_that_is_too_large():
    error = refused(PNG + bytes(MAX_PICTURE_BYTES + 1 - len(PNG)))
    assert (error.reason, str(error)) == ("too_many_bytes", "the file has 5,242,881 bytes" + ALLOWED)
    assert read_picture(PNG + bytes(MAX_PICTURE_BYTES - len(PNG))).width == 90


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (png_claiming(60_000, 60_000), "60,000 × 60,000"),
        (png_claiming(2**31 - 1, 2**31 - 1), "2,147,483,647 × 2,147,483,647"),
        (png_claiming(4_001, 4_000), "4,001 × 4,000"),
        (png_claiming(MAX_PICTURE_EDGE + 1, 1), "20,001 × 1"),
        (png_claiming(1, MAX_PICTURE_EDGE + 1), "1 × 20,001"),
        (webp_claiming(12_000), "12,000 × 12,000"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_more_pixels_than_are_allowed_are_never_decoded(monkeypatch, data, size):
    monkeypatch.setattr("attn_core.images._small_square", lambda _image: pytest.fail("decoded"))
    error = refused(data)
    assert (error.reason, str(error)) == ("too_many_pixels", f"the picture has {size} pixels" + ALLOWED)


def test_a_canvas_that_pillow_itself_refuses():
    assert refused(webp_claiming(16_383)).reason in ("too_many_pixels", "damaged")


def test_sizes_at_their_limits():
    assert MAX_PIXELS == 4_000 * 4_000
    for width, height in ((4_000, 4_000), (MAX_PICTURE_EDGE, 1), (1, 1)):
        picture = read_picture(encoded(Image.new("L", (width, height), 51)))
        assert (picture.width, picture.height) == (width, height)
        assert picture.pixels.unique().tolist() == [0.2]


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (0, 0)])
def test_no_pixel_at_all(size):
    assert refused(png_claiming(*size)).reason == "damaged"


def test_a_promise_that_is_not_kept():
    """A hundred times more pixels than the data hold."""
    assert refused(png_claiming(1000, 1000)).reason == "damaged"


@pytest.mark.parametrize("data", [PNG, JPEG, WEBP], ids=["PNG", "JPEG", "WebP"])
@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.9])
def test_a_file_that_is_cut_off(data, share):
    error = refused(data[: max(12, int(share * len(data)))])
    assert error.reason == "damaged"
    assert re.match(r"^the file is damaged or cut off \(\w+\); allowed: ", str(error))


@pytest.mark.parametrize("data", [PNG, JPEG, WEBP], ids=["PNG", "JPEG", "WebP"])
def test_flipped_bytes_raise_nothing_else(data):
    chance = random.Random(0)
    for _ in range(150):
        broken = bytearray(data)
        for _ in range(chance.randint(1, 12)):
            broken[chance.randrange(len(broken))] = chance.randrange(256)
        try:
            pixels = read_picture(bytes(broken)).pixels
        except PictureError:
            continue
        assert pixels.shape[:2] == (SIDE, SIDE)
        assert 0 <= pixels.min() <= pixels.max() <= 1


def test_a_refusal_lets_the_next_picture_in():
    for _ in range(3):
        refused(PNG[:100])
    assert read_picture(PNG).width == 90


def test_text_that_unpacks_to_a_hundred_megabytes():
    from PIL.PngImagePlugin import PngInfo

    text = PngInfo()
    text.add_text("bomb", "0" * 100_000_000, zip=True)
    data = encoded(gradient(9, 9), pnginfo=text)
    assert len(data) < MAX_PICTURE_BYTES
    assert refused(data).reason == "damaged"


def test_scans_without_end():
    """A progressive JPEG whose last scan is repeated: a few bytes each, and the time of the whole picture."""
    data = encoded(gradient(90, 90), "JPEG", progressive=True)
    scan = data[data.rindex(b"\xff\xda") : -2]
    assert read_picture(data[:-2] + 10 * scan + data[-2:]).width == 90
    error = refused(data[:-2] + 200 * scan + data[-2:])
    assert error.reason == "damaged"
    assert re.match(r"^the file holds its picture 21\d times over; ", str(error))
