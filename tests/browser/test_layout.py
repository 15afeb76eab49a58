"""The search for text that is cut finds it."""

from tests.browser.layout import cut_text, excess_width


def test_the_check_can_fail(visit):
    page = visit("/similarity?lang=en", lang="en", width=390)
    assert excess_width(page) <= 1
    page.evaluate(
        """() => document.querySelector('[data-testid=stMain] h1').insertAdjacentHTML('afterend',
             '<p style="width: 60px; overflow: hidden; white-space: nowrap">much too long for this</p>'
             + '<p style="width: 600px">wide</p>')"""
    )
    assert set(cut_text(page)) == {"cut: much too long for this", "outside: wide"}
