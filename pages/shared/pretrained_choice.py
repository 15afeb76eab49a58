"""Which pretrained model reads which text: the controls, the run through the gate, and what went wrong."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

import streamlit as st

from attn_core.images import Picture
from attn_core.limits import MAX_MODEL_BYTES, MAX_PASSAGE
from attn_core.models import BUNDLED, MODELS, ModelError, any_name_allowed
from attn_core.pretrained import UnsupportedAttentionError
from attn_core.pretrained_settings import PretrainedSettings
from attn_core.reading import EmptyTextError, Reading, ReadingProgress, reading
from pages.shared import gate
from pages.shared.link import change, current, tied
from pages.shared.picture_choice import current_picture, picture_list
from pages.shared.text import _, plain, prose

_SEEING: set[str] = set()

# The other reasons say all there is to say.
_WITH_DETAIL = ("too_large", "no_network", "remote_code", "damaged", "unsupported")


def model_controls() -> None:
    """The model, and what it reads."""
    settings, known = current(PretrainedSettings), [model.name for model in MODELS]
    choice, text = st.columns([2, 3], gap="large")
    with choice:
        st.selectbox(
            _("Model"),
            known if settings.model in known else [*known, settings.model],
            accept_new_options=any_name_allowed(),
            **tied(PretrainedSettings, "model"),
        )
        st.caption(prose("pretrained", "models"))
    with text:
        if _sees(settings.model):
            picture_list()
            st.caption(prose("pretrained", "picture"))
        else:
            st.text_area(
                _("Text that the model reads"),
                height="content",
                max_chars=MAX_PASSAGE,
                **tied(PretrainedSettings, "passage"),
            )


def other_text() -> None:
    """The text to compare with."""
    st.text_area(
        _("Another text"),
        height="content",
        max_chars=MAX_PASSAGE,
        placeholder=_("empty: nothing to compare"),
        **tied(PretrainedSettings, "second_passage"),
    )


def _sees(model: str) -> bool:
    """Whether a model is one of vision; of those not in the list, that is known once it has seen something."""
    return model in _SEEING or any(known.name == model and known.kind == "vision" for known in MODELS)


def current_readings() -> tuple[Reading, ...]:
    """What the chosen model does with the text, and with the other text if there is one.

    A vision model sees the picture of the page of pictures instead. Nothing, with the reason on the screen, where
    there is nothing to show.
    """
    asked = _asked()
    key = asked.key
    try:
        found = gate.run(key, asked.read, _progress, by_itself=True)
    except gate.RunError as error:
        _explain(error)
        return ()
    if found is None:
        st.button(_("Read"), icon=":material/play_arrow:", type="primary", key="read", on_click=gate.want, args=(key,))
        return ()
    if found.readings[0].picture and not _sees(asked.model):
        _SEEING.add(asked.model)
        st.rerun()  # it asks for a picture now
    return found.readings


@dataclass(frozen=True)
class Asked:
    """What is to be read by which model: all that a reading depends on."""

    model: str
    texts: tuple[str, ...]
    picture: Picture

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Equal for equal readings."""
        return "pretrained", self.model, self.picture.fingerprint if _sees(self.model) else self.texts

    def read(self) -> Iterator[ReadingProgress]:
        """The run."""
        return reading(self.model, self.texts, self.picture, any_name=any_name_allowed())


def _asked() -> Asked:
    settings = current(PretrainedSettings)
    texts = (settings.passage, settings.second_passage)[: 2 if settings.second_passage.strip() else 1]
    return Asked(settings.model, texts, current_picture())


def reading_later() -> Callable[[], Reading]:
    """The first of the current readings for somebody who asks after the run, outside of the session.

    The reading itself would stay in memory for as long as the session does.
    """
    asked = _asked()

    def again() -> Reading:
        found = gate.latest(asked.key)
        if found is None or not found.readings:
            *_before, found = asked.read()
        first: Reading = found.readings[0]
        return first

    return again


def _progress(piece: ReadingProgress) -> tuple[float, str]:
    stages = {
        "libraries": _("Loading the libraries"),
        "download": _("Downloading the model"),
        "check": _("Checking the model's file"),
        "weights": _("Loading the weights"),
        "reading": _("The model reads"),
    }
    return piece.share, stages[piece.stage]


def _explain(error: gate.RunError) -> None:
    """The reason, in the reader's language, and the way back."""
    cause = error.__cause__
    if isinstance(cause, EmptyTextError):
        st.error(_("This model finds no token in the text: type a word."))
        return
    reason = cause.reason if isinstance(cause, ModelError) else "unsupported"
    st.error(_reasons()[reason])
    if isinstance(cause, ModelError | UnsupportedAttentionError) and reason in _WITH_DETAIL:
        st.caption(plain(str(cause)))
    st.button(_("Back to the model that comes along"), key="bundled_model", on_click=_take_bundled)


def _reasons() -> dict[str, str]:
    """Why a model cannot be shown."""
    name = plain(current(PretrainedSettings).model)
    return {
        "name": _("“{name}” cannot be the name of a model. A name has the form owner/model.", name=name),
        "not_allowed": _("On this server only the models in the list can be used."),
        "unknown": _("There is no model “{name}” that may be read without an account.", name=name),
        "no_network": _("The model “{name}” would have to be downloaded, and this server cannot reach it.", name=name),
        "too_large": _(
            "“{name}” is too large for this server: at most {limit} MB are read.",
            name=name,
            limit=MAX_MODEL_BYTES // 1_000_000,
        ),
        "no_safetensors": _("“{name}” has no weights in the safetensors format; no other is read here.", name=name),
        "remote_code": _("“{name}” brings program code of its own, which is never run here.", name=name),
        "damaged": _("The files of “{name}” are damaged or incomplete.", name=name),
        "unsupported": _(
            "The attention of “{name}” does something that this page cannot show step by step.", name=name
        ),
    }


def _take_bundled() -> None:
    change(PretrainedSettings, model=BUNDLED)
