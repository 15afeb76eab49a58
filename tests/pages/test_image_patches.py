"""The page of pictures, without a browser: numbers read back, pictures uploaded, a model trained."""

import builtins
import dataclasses
import logging
import tomllib
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image
from streamlit.testing.v1 import AppTest

from attn_core.images import digits, from_patches, read_picture, sample_picture, to_patches
from attn_core.limits import MAX_PICTURE_BYTES
from attn_core.vit import STORED, VitSettings, digit_attention, digit_picture, labelled_patches, stored_vit, train_vit
from pages.shared import digit_reader
from tests import independent
from tests.attn_core.pictures import colours_of, encoded, gradient, png_claiming
from tests.pages.reading import LANGUAGES, address, charts, figure, tables, warnings, words

PAGE = "image_patches"


def checked(app: AppTest) -> AppTest:
    assert [error.value for error in app.exception] == []
    return app


def upload(app: AppTest, data: bytes, name: str = "mine.png") -> AppTest:
    return checked(app.file_uploader(key="upload").set_value((name, data, "image/png")).run())


def shown_pixels(app: AppTest, key: str = "patches_picture") -> np.ndarray:
    return colours_of(figure(app, key)["data"][0]["source"])


# The picture, its patches, their thread.


def picture_numbers(pixels: np.ndarray, per_edge: int, seed: int = 0, size: int = 4) -> dict[str, np.ndarray]:
    """The thread of a picture once more, with NumPy and none of attn_core's code."""
    edge = len(pixels) // per_edge
    places = [(row * edge, column * edge) for row in range(per_edge) for column in range(per_edge)]
    patches = np.array([pixels[y : y + edge, x : x + edge].reshape(-1) for y, x in places])
    w_e = independent.tenths(patches.shape[1], size, max(1, round(30 / patches.shape[1] ** 0.5)), 6_000_000 + seed)
    bound = max(1, round(10 * (3 / size) ** 0.5))
    q, k, v = (patches @ w_e @ independent.tenths(size, size, bound, 4 * seed + place) for place in (1, 2, 3))
    powers = np.exp(q @ k.T / size**0.5)
    weights = powers / powers.sum(1, keepdims=True)
    return {"x": patches @ w_e, "q": q, "k": k, "v": v, "scores": q @ k.T, "weights": weights, "output": weights @ v}


@pytest.mark.parametrize("step", ["x", "q", "k", "v", "scores", "output"])
def test_every_product_is_computed_from_the_link(open_page, step):
    page = checked(open_page(PAGE, lang="en", patch_step=step, seed="5", digit="17", patch="9", patch_key="3"))
    expected = picture_numbers(digits().pixels[17].numpy()[:, :, None], 4, seed=5)
    product = figure(page, "patches_product")["data"]
    assert_allclose(np.array(product[2]["z"]), expected[step], atol=1e-12)
    column = 3 if step == "scores" else 0
    value = f"{expected[step][9, column]:.4f}".replace("-", "−")
    assert charts(page)["patches_product"].alt.endswith(f"is {value}.")


@pytest.mark.parametrize(("picture", "cuts"), [("digit", 2), ("flower", 1), ("china", 3)])
def test_the_weights_that_lie_over_the_picture(open_page, picture, cuts):
    page = checked(open_page(PAGE, lang="en", picture=picture, patch_cuts=str(cuts), patch="2"))
    pixels = digits().pixels[64].numpy()[:, :, None] if picture == "digit" else sample_picture(picture).pixels.numpy()
    weights = picture_numbers(pixels, 2**cuts)["weights"][2]
    overlay = figure(page, "patches_attention")["data"][2]
    assert_allclose(np.array(overlay["z"]).ravel(), weights, atol=1e-12)
    largest = f"{weights.max():.4f}"
    assert largest in charts(page)["patches_attention"].alt
    assert largest in tables(page)[0].to_string()
    assert np.array_equal(shown_pixels(page), np.round(np.broadcast_to(pixels, (*pixels.shape[:2], 3)) * 255))


def test_the_numbers_of_the_chosen_patch(open_page):
    page = checked(open_page(PAGE, lang="en", picture="flower", patch="6"))
    patch = to_patches(sample_picture("flower").pixels, 8)[6]
    assert "16 patches; each is 8 × 8 pixels × 3 = **192** numbers." in words(page)
    blocks = [np.array(block["z"]) for block in figure(page, "patch_numbers")["data"]]
    assert np.array_equal(np.stack(blocks, axis=-1).ravel(), patch.numpy())
    table = next(frame.value for frame in page.dataframe if "pixel" in frame.value.columns)
    assert table["value"].tolist() == [f"{value:.2f}" for value in patch.tolist()]
    assert table["pixel"].tolist()[:4] == ["(0,0)R", "(0,0)G", "(0,0)B", "(0,1)R"]


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize(("picture", "cuts"), [("digit", 3), ("flower", 1), ("china", 2), ("own", 3)])
def test_every_picture_in_every_size(open_page, lang, picture, cuts):
    page = checked(open_page(PAGE, lang=lang, picture=picture, patch_cuts=str(cuts), patch="63", patch_key="63"))
    assert not warnings(page)
    assert all(chart.alt for chart in charts(page).values())
    assert page.selectbox(key="patch").value == 4**cuts - 1


def test_widgets_move_the_numbers_and_the_link(open_page):
    page = open_page(PAGE, lang="en", picture="china")
    page = checked(page.selectbox(key="patch").set_value(9).run())
    page = checked(page.button_group(key="patch_step").set_value("scores").run())
    page = checked(page.selectbox(key="patch_key").set_value(15).run())
    page = checked(page.toggle(key="grey").set_value(True).run())
    assert address(page) == {
        "lang": "en",
        "picture": "china",
        "grey": "true",
        "patch": "9",
        "patch_key": "15",
        "patch_step": "scores",
    }
    page = checked(page.button(key="step_right").click().run())
    assert (address(page)["patch"], address(page).get("patch_key", "0")) == ("10", "0")
    pixels = shown_pixels(page)
    assert (pixels == pixels[:, :, :1]).all()
    page = checked(page.button_group(key="patch_cuts").set_value(1).run())
    assert page.selectbox(key="patch").value == 3
    page = checked(page.button_group(key="picture").set_value("digit").run())
    page = checked(page.number_input(key="digit").set_value(7).run())
    assert np.array_equal(shown_pixels(page)[:, :, 0], np.round(digits().pixels[7].numpy() * 255))


def test_heads_and_edits_of_the_lesson_count_here_too(open_page):
    plain = open_page(PAGE, lang="en", patch_step="q")
    edited = checked(open_page(PAGE, lang="en", patch_step="q", edits="W_Q[0,0]=9", n_heads="2", head="1"))
    before, after = (np.array(figure(page, "patches_product")["data"][1]["z"]) for page in (plain, edited))
    assert after[0, 0] == 9
    assert np.array_equal(before.ravel()[1:], after.ravel()[1:])
    page = checked(open_page(PAGE, lang="en", patch_step="output", n_heads="2", head="1", patch_column="3"))
    assert figure(page, "patches_product")["layout"]["xaxis"]["ticktext"] == ["v2", "v3"]
    assert page.selectbox(key="patch_column").value == 3


# A picture of one's own.


def test_an_own_picture(open_page):
    page = open_page(PAGE, lang="en", picture="own")
    assert [info.value for info in page.info if "no picture of yours" in info.value]
    assert np.array_equal(shown_pixels(page), np.round(sample_picture("flower").pixels.numpy() * 255))
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(gradient(96, 64), "JPEG", exif=exif)
    page = upload(page, data, "photo.jpg")
    assert np.array_equal(shown_pixels(page), np.round(read_picture(data).pixels.numpy() * 255))
    (remark,) = [text for text in words(page) if "averaging" in text]
    assert remark.startswith(
        "64 × 96 pixels, made 32 × 32 by averaging · turned upright as its EXIF tag says · cropped"
    )
    assert address(page) == {"lang": "en", "picture": "own"}
    assert not [info.value for info in page.info if "no picture of yours" in info.value]


def test_an_own_picture_outlives_other_choices(open_page):
    data = encoded(gradient(32, 32).convert("L"))
    page = upload(open_page(PAGE, lang="en", picture="own"), data)
    own = shown_pixels(page)
    page = checked(page.button_group(key="picture").set_value("digit").run())
    assert shown_pixels(page).shape == (8, 8, 3)
    page = checked(page.button_group(key="lang").set_value("ja").run())
    page = checked(page.button_group(key="picture").set_value("own").run())
    assert np.array_equal(shown_pixels(page), own)


def test_the_server_takes_no_larger_file_than_is_read():
    config = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text("utf-8"))
    assert config["server"]["maxUploadSize"] * 1024**2 == MAX_PICTURE_BYTES


def test_of_the_file_only_a_small_picture_is_kept(open_page):
    page = upload(open_page(PAGE, lang="en", picture="own"), encoded(gradient(640, 480)))
    kept = page.session_state["_own_picture"]
    assert kept.pixels.numel() == 32 * 32 * 3
    page = checked(page.file_uploader(key="upload").set_value(None).run())
    assert page.session_state["_own_picture"] is kept, "a browser empties the field before it replaces a file"
    page = checked(page.button(key="forget_picture").click().run())
    assert "_own_picture" not in page.session_state
    assert np.array_equal(shown_pixels(page), np.round(sample_picture("flower").pixels.numpy() * 255))


BAD = {
    "too large": (bytes(MAX_PICTURE_BYTES + 1), "ファイルが大きすぎます。", "The file is too large."),
    "no picture": (b"hello", "ここで読める形式の画像ではありません。", "This is no picture that can be read here."),
    "empty": (b"", "ここで読める形式の画像ではありません。", "This is no picture that can be read here."),
    "gif": (encoded(gradient(9, 9), "GIF"), "ここで読める形式の画像では", "This is no picture that can be read here."),
    "bomb": (png_claiming(60_000, 60_000), "画像の画素数が多すぎます。", "The picture has too many pixels."),
    "cut off": (encoded(gradient(90, 90))[:500], "画像が壊れているか、", "The picture is damaged or incomplete."),
}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_bad_files_are_told_and_change_nothing(open_page, lang):
    """One after the other into the same session, after a good one."""
    page = upload(open_page(PAGE, lang=lang, picture="own"), encoded(gradient(32, 32)))
    good = shown_pixels(page)
    for what, (data, japanese, english) in list(BAD.items())[:: 1 if lang == "ja" else 2]:
        page = upload(page, data)
        (error,) = [error.value for error in page.error]
        assert error.startswith(japanese if lang == "ja" else english), what
        assert all(part in error for part in ("PNG", "WebP", "5 MB", "20,000")), what
        assert np.array_equal(shown_pixels(page), good), what
    page = upload(page, encoded(gradient(32, 32, seed=1)))
    assert not page.error
    assert not np.array_equal(shown_pixels(page), good)


def test_an_upload_is_neither_written_nor_logged(open_page, monkeypatch, caplog):
    page, written = open_page(PAGE, lang="en", picture="own"), []
    original = builtins.open

    def watched(file, mode="r", *args, **options):
        if set(mode) & set("wax+"):
            written.append(file)
        return original(file, mode, *args, **options)

    monkeypatch.setattr(builtins, "open", watched)
    monkeypatch.setattr(Path, "write_bytes", lambda self, _data: written.append(self))
    caplog.clear()
    with caplog.at_level(logging.DEBUG):
        upload(page, encoded(gradient(32, 32)), "secret-name.png")
        upload(page, b"secret-bytes", "secret-name.png")
    assert written == []
    assert "secret" not in caplog.text


# The model that has learned.


def test_a_digit_as_the_stored_model_reads_it(open_page):
    page = checked(open_page(PAGE, lang="en", digit="64", vit_layer="0", vit_head="2", vit_query="6"))
    model, picture = stored_vit().model, digit_picture(64)
    weights = digit_attention(model, picture)[0].weights
    overlay = figure(page, "digit_attention")["data"][2]
    assert_allclose(np.array(overlay["z"]).ravel(), weights[2, 6, 1:].numpy(), atol=1e-12)
    small = np.array(figure(page, "digit_heads")["data"][1]["z"], dtype=float)[0:4, 10:14]
    assert_allclose(small.ravel(), weights[2, 6, 1:].numpy(), atol=1e-12)
    assert any(f"To the class token itself: {weights[2, 6, 0]:.4f}" in text for text in words(page))
    assert "Digit 64 shows a **4** (held out: the model has never learned from it)." in words(page)
    assert [message.value[:24] for message in page.success] == ["The model reads **4**, w"]
    bars = figure(page, "digit_probabilities")["data"]
    assert_allclose(bars[0]["x"], model(to_patches(picture.pixels, 2)).softmax(-1).numpy(), atol=1e-12)
    assert bars[1]["x"] == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]


def test_a_misread_digit_is_looked_at(open_page):
    page = open_page(PAGE, lang="en", picture="flower")
    (misread, *_) = stored_vit().evaluation.misread
    page = checked(page.selectbox(key="misread").set_value(misread).run())
    assert address(page)["digit"] == str(misread)
    assert [message.value[:17] for message in page.error] == ["The model reads *"]
    assert page.number_input(key="digit").value == misread


def test_a_digit_it_has_learned_from(open_page):
    known = int((~labelled_patches().held_out).nonzero()[0])
    assert any("one it has learned from" in text for text in words(open_page(PAGE, lang="en", digit=str(known))))


def test_layer_head_and_token_by_lists(open_page):
    page = open_page(PAGE, lang="en")
    for key, value in (("vit_layer", 0), ("vit_head", 3), ("vit_query", 16)):
        page = checked(page.selectbox(key=key).set_value(value).run())
    assert {key: address(page)[key] for key in ("vit_layer", "vit_head", "vit_query")} == {
        "vit_layer": "0",
        "vit_head": "3",
        "vit_query": "16",
    }
    assert charts(page)["digit_attention"].alt.startswith("layer 0, head 3: what (3,3) attends to, patch by patch: ")


def test_the_held_out_accuracy(open_page):
    page, found = open_page(PAGE, lang="en"), stored_vit().evaluation
    assert f"**{found.n_correct} of 359** held-out digits are read correctly: **{found.accuracy:.1%}**." in " ".join(
        words(page)
    )
    assert np.array_equal(figure(page, "digit_confusion")["data"][0]["z"], found.confusion.numpy())
    curve = figure(page, "digit_curve")["data"][0]
    assert curve["y"][-1] == pytest.approx(found.accuracy)


SHORT = VitSettings(vit_epochs=1, vit_seed=2)


def test_training_it_now(open_page):
    page = open_page(PAGE, lang="en", vit_epochs="1", vit_seed="2")
    page = checked(page.button(key="train_digits").click().run())
    assert address(page)["vit_live"] == "true"
    (message,) = [info.value for info in page.info if "some differ" in info.value]
    assert message.startswith("Other settings than the stored model's: of 18,218 numbers, some differ by ")
    *_, run = train_vit(SHORT)
    assert f"**{run.evaluation.accuracy:.1%}**" in " ".join(words(page))
    again = checked(open_page(PAGE, **address(page)))
    assert figure(again, "digit_confusion")["data"] == figure(page, "digit_confusion")["data"]
    page = checked(page.button(key="stored_digits").click().run())
    assert address(page) == {"lang": "en", "vit_epochs": "1", "vit_seed": "2"}
    assert not [info.value for info in page.info if "some differ" in info.value]


@pytest.mark.parametrize(("change", "said"), [(0.0, "bit by bit: same seed"), (0.5, "by more than 0.5. Another")])
def test_the_same_seed_gives_the_stored_weights(open_page, monkeypatch, change, said):
    *_, run = train_vit(SHORT)
    stored = dataclasses.replace(run, weights={**run.weights, "positions": run.weights["positions"] + change})
    monkeypatch.setattr(digit_reader, "STORED", SHORT)
    monkeypatch.setattr(digit_reader, "stored_vit", lambda: stored)
    page = checked(open_page(PAGE, lang="en", vit_live="true", vit_epochs="1", vit_seed="2"))
    assert any(said in message.value for message in page.success), [message.value for message in page.success]


def test_the_settings_of_the_stored_model_are_the_defaults():
    assert VitSettings() == STORED == stored_vit().settings


def test_patches_on_the_page_make_the_picture_again(open_page):
    """What the page shows as patches × W_E's left factor is the picture, cut."""
    page = open_page(PAGE, lang="en", picture="china", patch_step="x", patch_cuts="3")
    patches = np.array(figure(page, "patches_product")["data"][0]["z"])
    pixels = sample_picture("china").pixels
    assert np.array_equal(patches.round(2), to_patches(pixels, 4).numpy())
    assert np.array_equal(from_patches(to_patches(pixels, 4), 4, 8).numpy(), pixels.numpy())
