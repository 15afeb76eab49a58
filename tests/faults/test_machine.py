"""The app stands where a page fails, memory, disk or files run out, a model is damaged, or the clock jumps."""

import io
import re
from contextlib import ExitStack

import numpy as np
import pytest
from numpy.testing import assert_allclose
from playwright.sync_api import Page, expect

from benchmarks.session import Server as SessionServer
from benchmarks.session import opened
from tests import independent
from tests.browser.driving import click_cell, numbers, press, settle, wait_for_title, wait_for_total
from tests.faults.faulty import BREAKING_TEXT, FAILING_SEED, FEW_FILES
from tests.pages.waiting import until

PICTURE = "similarity_product"
FAULT = ".st-key-fault"
FAILED = "The computation failed. Try again, or ask for less."
APOLOGY = {
    "en": ("Something went wrong on this page. The other pages work.", "This page with the default lesson"),
    "ja": ("このページで問題が起きました。ほかのページは使えます。", "このページを最初の設定で開く"),
}


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_a_page_that_fails(faulty, open_at, lang):
    said, way_on = APOLOGY[lang]
    page = open_at(f"{faulty.address}/similarity?lang={lang}&text={BREAKING_TEXT.replace(' ', '+')}", lang)
    expect(page.locator(FAULT)).to_contain_text(said)
    for hidden in ("KeyError", "Traceback", "explain_cosine", ".py"):
        assert hidden not in page.inner_text("[data-testid=stApp]")
    expect(page.locator("[data-testid=stException]")).to_have_count(0)
    press(page, "PageDown")
    expect(page).to_have_url(re.compile("/softmax"))
    settle(page)
    expect(page.locator(FAULT)).to_have_count(0)
    press(page, "PageUp")
    page.locator(FAULT).get_by_role("link", name=way_on).click()
    expect(page.locator(FAULT)).to_have_count(0)
    settle(page)
    lesson = independent.lesson_from_link(f"/?lang={lang}")
    assert_allclose(numbers(page, PICTURE, 2), lesson["scores"], atol=1e-9)
    log = faulty.log.read_text(encoding="utf-8")
    assert "the page similarity failed: KeyError" in log
    assert "explain_cosine" in log
    assert BREAKING_TEXT not in log


def test_a_training_without_memory(faulty, open_at):
    page = open_at(f"{faulty.address}/training?lang=en&learning_steps=30&learning_seed={FAILING_SEED}")
    page.locator(".st-key-train button").click()
    expect(page.locator(FAULT)).to_have_text(FAILED)
    settle(page)
    other = open_at(f"{faulty.address}/training?lang=en&learning_steps=30&learning_seed=5")
    other.locator(".st-key-train button").click()
    expect(other.get_by_text("After 30 of 30 steps")).to_have_count(1)
    page.locator(".st-key-train button").click()  # "Go on": it is tried again, and told again
    until(lambda: faulty.log.read_text(encoding="utf-8").count("a job failed: MemoryError") == 2)
    expect(page.locator(".st-key-stop")).to_have_count(0)
    expect(page.locator(FAULT)).to_have_text(FAILED)
    assert f"{FAILING_SEED} GB" not in faulty.log.read_text(encoding="utf-8")


def test_a_damaged_model(faulty, open_at):
    page = open_at(f"{faulty.address}/pretrained?lang=en")
    expect(page.get_by_text("are damaged or incomplete")).to_be_visible()
    settle(page)
    press(page, "PageUp")
    wait_for_title(page, "Training")


def download(page: Page, name: str) -> bytes:
    with page.expect_download() as saved:
        page.locator("[data-testid=stDownloadButton] button").filter(has_text=name).click()
    return saved.value.path().read_bytes()


def test_downloads_need_no_disk(faulty, open_at):
    page = open_at(f"{faulty.address}/similarity?lang=en&seed=3")
    scores = numbers(page, PICTURE, 2)
    page.locator(".st-key-share_popover button").click()
    with np.load(io.BytesIO(download(page, "All matrices"))) as matrices:
        assert_allclose(matrices["scores"], scores)
    assert b"torch" in download(page, "Python script")
    table = download(page, ".csv").decode("utf-8-sig")
    assert table.count("\n") > 1
    page = open_at(f"{faulty.address}/self_attention_code?lang=en")
    assert b"SimpleSelfAttention" in download(page, "")


def test_many_readers_where_few_files_may_be_open(faulty):
    readers = FEW_FILES // 3  # each needs four files
    with ExitStack() as stack:
        tabs = [stack.enter_context(opened(SessionServer(faulty.address), "similarity")) for _ in range(readers)]
        assert all(tab.has_step() for tab in tabs)


def test_a_clock_that_jumps(faulty, open_at):
    """It jumps in the middle of a training, forwards, then back to before the server was started."""
    page = open_at(f"{faulty.address}/similarity?lang=en")
    trained = open_at(f"{faulty.address}/training?lang=en&learning_steps=2000&learning_seed=8")
    trained.locator(".st-key-train button").click()
    scores, progress = independent.lesson_from_link("/?lang=en")["scores"], trained.locator("[data-testid=stProgress]")
    for forwards, place in ((True, (0, 3)), (False, (3, 1))):
        expect(progress).to_contain_text(re.compile("step [1-9]"))
        reached = progress.inner_text()
        faulty.jump_clock(forwards=forwards)
        expect(progress).not_to_have_text(reached)
        click_cell(page, PICTURE, *place)
        wait_for_total(page, scores[place])
    trained.locator(".st-key-stop button").click()
    expect(trained.locator(".st-key-stop")).to_have_count(0)
    settle(trained)
    expect(trained.locator(FAULT)).to_have_count(0)
