"""What a reader's eyes need and Streamlit has no setting for: the page's own style sheet.

Streamlit says by `color-scheme` which theme is shown, so that a colour follows it without the server.
"""

import streamlit as st

from attn_core.palette import TEXT_COLORS

# Streamlit's own colours that have too little contrast; on a light page, on a dark one.
_AXIS_GREY = {"#808495": ("#5F6372", "#A3A8B8")}
_CODE = {
    ":is(.keyword, .tag, .function, .class-name, .selector)": ("#0A5FB4", "#58A9F0"),
    ":is(.string, .char, .attr-value, .boolean, .constant, .symbol)": ("#08702A", "#3DD56D"),
    ":is(.number, .regex, .attr-name, .property, .variable)": ("#006478", "#3DC9D5"),
    ":is(.operator, .entity, .decorator, .atrule)": ("#8F4700", "#FFA421"),
    ":is(.comment, .punctuation)": ("#5F6372", "#A3A8B8"),
}
_ON_PRIMARY = ("#FFFFFF", "#14131A")


def style_sheet() -> None:
    """Puts the style sheet into the page."""
    st.html(f"<style>{_STYLE}</style>")


def _ink(light: str, dark: str) -> str:
    return f"light-dark({light}, {dark}) !important"


def _letters(color: str, light: str, dark: str) -> str:
    """Letters of one colour, in formulas and in pictures: as dark or as bright as the theme needs."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    written = f"rgb({red}, {green}, {blue})"
    return (
        f'.katex [style*="color: {written}"] {{ color: {_ink(light, dark)} }}\n'
        f'.js-plotly-plot :is(text, tspan)[style*="fill: {written}"] {{ fill: {_ink(light, dark)} }}'
    )


_STYLE = "\n".join(
    (
        *(_letters(color, *shades) for color, shades in (TEXT_COLORS | _AXIS_GREY).items()),
        *(f".stCode .token{kind} {{ color: {_ink(*shades)} }}" for kind, shades in _CODE.items()),
        f"[data-testid=stBaseButton-primary]:enabled {{ color: {_ink(*_ON_PRIMARY)} }}",
        "[data-testid=stMarkdownContainer]:has(> table) { overflow-x: auto }",
        ":is(.stPageLink a, .stButton button, .stDownloadButton button) { height: auto }",
        ":is(.stPageLink a, .stButton button, .stDownloadButton button) p { white-space: normal }",
        ":is(a, main, .modebar-btn):focus-visible { outline: 2px solid !important; outline-offset: -2px }",
        ".st-key-pictures_as_tables [data-testid=stMarkdownContainer] { overflow-x: auto }",
        ".st-key-pictures_as_tables :is(th, td) { padding: 0.2rem 0.4rem; white-space: nowrap }",
        "@media (prefers-reduced-motion: reduce) {",
        "  *, ::before, ::after { animation-duration: 1ms !important; transition-duration: 1ms !important }",
        "}",
    )
)
