"""Weight that is moved by hand, and the output that moves with it."""

import streamlit as st

from attn_core import LessonTrace
from attn_core.figures.contributions import contributions
from attn_core.figures.hull import hull
from attn_core.mixing import MixingSettings, Mixture
from attn_core.numbers import texts
from pages.shared.controls import limits
from pages.shared.link import tied
from pages.shared.picker import chart, place_list
from pages.shared.text import _, plain, prose


def show_mixture(trace: LessonTrace, mixed: Mixture) -> None:
    """The controls, what each value contributes, and where the output lies among the values."""
    query = trace.tokens[trace.lesson.query]
    stacked, plane = st.columns(2, gap="large")
    with stacked:
        with st.container(horizontal=True):
            for name, field in ((_("Take weight from"), "giver"), (_("Give it to"), "taker")):
                place_list(field, name, trace.key_tokens, record_type=MixingSettings, width=150)
        st.slider(
            _("Share of the giver's weight"),
            step=0.05,
            **limits(MixingSettings, "moved"),
            **tied(MixingSettings, "moved"),
        )
        alt = _(
            "Contributions of each value to the output of {query}; the weights {weights} sum to {total:.4f}",
            query=query,
            weights=", ".join(texts(mixed.weights[None])[0]),
            total=float(mixed.weights.sum()),
        )
        chart(contributions(mixed, trace.key_tokens), "sum_contributions", alt)
        st.caption(plain(alt))
    with plane:
        alt = _(
            "Values, their convex hull, and inside it the output of {query}: {numbers}",
            query=query,
            numbers=", ".join(texts(mixed.output[None])[0]),
        )
        chart(hull(mixed, trace.key_tokens), "sum_hull", alt)
        st.caption(prose("weighted_sum", mixed.plane))
