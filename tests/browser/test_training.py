"""Training in the browser: the animation plays without the server, a run can be stopped, and its link opens it."""

import re

from playwright.sync_api import expect

from tests.browser.driving import numbers, settle

_STATE = "document.querySelector('[data-testid=stApp]').dataset.testScriptState"
_FRAME = "document.querySelector('.st-key-learning_weights .js-plotly-plot')._transitionData._frames"
_SLIDER = "document.querySelector('.st-key-learning_weights .js-plotly-plot')._fullLayout.sliders[0].active"


def finished(page) -> None:
    expect(page.locator(".st-key-stop")).to_have_count(0)
    expect(page.locator(".st-key-train")).to_have_count(0)
    settle(page)


def test_the_animation_plays_by_itself_when_asked(visit):
    page = visit("/training?lang=en&learning_steps=60&learning_seed=21", lang="en")
    page.locator(".st-key-train button").click()
    finished(page)
    assert page.evaluate(f"{_FRAME}.length") == 7
    last = numbers(page, "learning_weights", 0)
    page.wait_for_timeout(500)
    assert (numbers(page, "learning_weights", 0) == last).all(), "nothing moves before the button is pressed"

    page.evaluate(
        f"""() => {{
          window.ran = []
          new MutationObserver(() => window.ran.push({_STATE}))
            .observe(document.querySelector('[data-testid=stApp]'), {{attributes: true}})
          window.seen = []
          document.querySelector('.st-key-learning_weights .js-plotly-plot')
            .on('plotly_animatingframe', frame => window.seen.push(frame.name))
        }}"""
    )
    page.locator(".st-key-learning_weights .updatemenu-button").first.click()
    page.wait_for_function("window.seen.length >= 7 && window.seen.at(-1) === '6'")
    assert page.evaluate("window.seen") == [str(place) for place in range(7)]
    assert page.evaluate("window.ran") == [], "the server has no part in it"
    assert (numbers(page, "learning_weights", 0) == last).all()

    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"{_SLIDER} === 5")
    settle(page)
    expect(page).to_have_url(re.compile("shown_step=50"))
    assert not (numbers(page, "learning_weights", 0) == last).all()


def test_a_stopped_run_is_kept_and_the_link_holds_its_length(visit):
    page = visit("/training?lang=en&learning_steps=2000&learning_seed=22", lang="en")
    page.locator(".st-key-train button").click()
    expect(page.locator("[data-testid=stProgress]")).to_contain_text(re.compile("step [1-9]"))
    page.locator(".st-key-stop button").click()
    finished(page)
    expect(page).not_to_have_url(re.compile("learning_steps=2000"))
    steps = int(re.search(r"learning_steps=(\d+)", page.url).group(1))
    expect(page.get_by_text(f"After {steps} of {steps} steps")).to_have_count(1)
