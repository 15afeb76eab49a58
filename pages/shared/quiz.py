"""Asking the exercises of a lesson: questions in words, answers, progress, and results to take along."""

import dataclasses
import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from attn_core import LessonTrace
from attn_core.answers import Progress, answer, reveal
from attn_core.exercises import Cell, Exercise, ExerciseSettings, Split, exercises, given, hides_a_key
from attn_core.spreadsheet import table_csv
from attn_core.stages import Stage
from pages.shared.link import change, current
from pages.shared.text import _, plain

_KEPT_SETS = 20

# Questions about matrices of which every head has its own.
_OF_A_HEAD = ("score", "scaled", "exponential", "weight", "output")
_MARKS = {"right": "✓", "wrong": "✗", "new": ""}


@dataclass(frozen=True)
class Quiz:
    """The questions of one lesson and one seed, and what this session has answered.

    `progress` is the session's own list, one entry per question; `number` counts the session's quizzes.
    """

    trace: LessonTrace
    questions: tuple[Exercise, ...]
    progress: list[Progress]
    number: int

    @property
    def shown(self) -> int:
        """Which question is shown; a link may name one that this lesson does not have."""
        return min(current(ExerciseSettings).question, len(self.questions) - 1)


def current_quiz(trace: LessonTrace) -> Quiz:
    """The session's quiz; the chosen cell and the language of the screen change no question."""
    settings = current(ExerciseSettings)
    lesson = dataclasses.replace(trace.lesson, lang="ja", query=0, key=0, column=0)
    key = (lesson, settings.exercise_seed)
    if st.session_state.get("_exercises", (None,))[0] != key:
        st.session_state["_exercises"] = key, exercises(trace, settings)
    questions = st.session_state["_exercises"][1]
    kept = st.session_state.setdefault("_exercise_progress", {})
    progress = kept.setdefault(key, [Progress()] * len(questions))
    while len(kept) > _KEPT_SETS:
        del kept[next(iter(kept))]
    quiz = Quiz(trace, questions, progress, list(kept).index(key))
    if quiz.shown != settings.question:
        change(ExerciseSettings, question=quiz.shown)
    return quiz


def new_numbers() -> None:
    """Other cells and other sizes, from the first question on."""
    change(
        ExerciseSettings,
        exercise_seed=secrets.randbelow(1 + ExerciseSettings.allowed("exercise_seed").high),
        question=0,
    )


def tab(quiz: Quiz, place: int) -> str:
    """A question's number and how it went."""
    progress = quiz.progress[place]
    return f"{place + 1} {_MARKS['right' if progress.right else 'wrong' if progress.tried else 'new']}".strip()


def score(quiz: Quiz) -> str:
    """How many questions were answered, and rightly."""
    right, tried = (sum(getattr(p, name) for p in quiz.progress) for name in ("right", "tried"))
    return _("Right: {right} of {n}. Tried: {tried}.", right=right, n=len(quiz.questions), tried=tried)


def question_text(trace: LessonTrace, exercise: Exercise, mark: Callable[[str], str] = str) -> str:
    """The question in words; `mark` is how tokens are written."""
    about = exercise.about
    if isinstance(about, Cell):
        question = _cell_question(trace, exercise, about, mark)
        of_head = trace.n_heads > 1 and exercise.kind in _OF_A_HEAD
        return _("Head {head}: {question}", head=trace.head, question=question) if of_head else question
    if isinstance(about, Split):
        return _(
            "The d_model = {d_model} columns of q, k and v are shared equally among {n} heads. "
            "How many columns has each head, dₖ?",
            d_model=about.d_model,
            n=about.n_heads,
        )
    laws = {
        "normal": _("normal with mean 0 and variance 1"),
        "uniform": _("uniform between −√3 and √3"),
        "signs": _("+1 or −1, each with probability 1/2"),
        "shifted": _("normal with mean μ = {mean} and variance 1", mean=about.mean),
    }
    texts = {
        "variance": _("The dₖ = {d_k} entries of q and of k are independent: {law}. What is the variance of q·k?"),
        "divisor": _(
            "The dₖ = {d_k} entries of q and of k are independent: {law}. "
            "By which positive number must q·k be divided to get variance 1?"
        ),
    }
    return texts[exercise.kind].format(d_k=about.d_k, law=laws[about.entries])


def _cell_question(trace: LessonTrace, exercise: Exercise, cell: Cell, mark: Callable[[str], str]) -> str:
    texts = {
        "one_hot": _("At which position, counted from 0, is the 1 in the one-hot row of {row}? That is its ID."),
        "embedding": _("The one-hot row of {row} times W_E: what is entry {column} of the embedding?"),
        "position": _("Embedding plus position: what is entry {column} of x + p for {row}?"),
        "query": _("What is entry {column} of the query of {row}?"),
        "score": _("What is the score of the query of {row} and the key of {key}: their inner product?"),
        "scaled": _("The score of query {row} and key {key} is divided by {divisor}. What is the result?"),
        "visible": _visible_question(trace.lesson.mask),
        "exponential": _("z is the scaled score of query {row} and key {key}. What is e to the power of z?"),
        "weight": _weight_question(trace, cell),
        "output": _("What is entry {column} of the output of {row}?"),
        "y": _("The joined outputs of {row} times W_O: what is entry {column} of y?"),
    }
    divisor = {"sqrt_d_k": f"√dₖ = √{trace.d_k}", "none": "1", "d_k": f"dₖ = {trace.d_k}"}[trace.scale]
    tokens, keys = (
        [mark(f"{place}: {token}") for place, token in enumerate(t)] for t in (trace.tokens, trace.key_tokens)
    )
    key = keys[cell.column] if cell.column < len(keys) else ""
    picture = given(trace, exercise, solved=True)
    matrix = picture.result if isinstance(picture, Stage) else picture
    column = matrix.columns[cell.column] if matrix else ""
    return texts[exercise.kind].format(row=tokens[cell.row], key=key, column=column, divisor=divisor)


def _visible_question(mask: str) -> str:
    """How many keys are visible, where the mask has a rule and where it is drawn."""
    causal = _("The mask is causal: no query may look at a key after its own place. How many keys may {row} look at?")
    padding = _("The mask hides the padding behind the last word. How many keys may {row} look at?")
    drawn = _("The mask is drawn by hand: hidden keys have −∞. How many keys may {row} look at?")
    return {"causal": causal, "padding": padding}.get(mask, drawn)


def _weight_question(trace: LessonTrace, cell: Cell) -> str:
    if hides_a_key(trace, cell.row):
        return _("The mask makes the z of hidden keys −∞. What attention weight does query {row} give to key {key}?")
    return _("What attention weight does query {row} give to key {key}?")


def bold(token: str) -> str:
    """A token in a question on the screen."""
    return f"**{plain(token)}**"


def numbers_table(columns: dict[str, tuple[Any, ...]]) -> None:
    """The numbers that a cell is worked out from; nothing where there are none.

    A column with −∞ is one of text: the table would write -Infinity.
    """
    if not columns:
        return
    endless = [name for name, values in columns.items() if -math.inf in values]
    texts = {name: tuple(str(value).replace("-inf", "−∞") for value in columns[name]) for name in endless}
    right = dict.fromkeys(endless, st.column_config.TextColumn(alignment="right"))
    st.dataframe(pd.DataFrame(columns | texts), hide_index=True, column_config=right)


def answer_form(quiz: Quiz) -> None:
    """One answer and what came of it; no more answers once the solution may be seen."""
    exercise, progress = quiz.questions[quiz.shown], quiz.progress[quiz.shown]
    if progress.finished:
        st.markdown(_("Your answer: {text}", text=plain(progress.text)))
        _feedback(exercise, progress)
        return
    key = f"answer_{quiz.number}_{exercise.kind}"
    st.session_state.setdefault(key, progress.text)
    with st.form("answer", border=False):
        st.text_input(_("Your answer"), key=key)
        st.caption(_precision(exercise))
        st.form_submit_button(_("Check"), icon=":material/check:", on_click=_take, args=(quiz, key))
    _feedback(exercise, progress)
    st.button(
        _("Show the solution"),
        icon=":material/visibility:",
        disabled=not progress.tried,
        help=_("Answer once, then look."),
        on_click=_reveal,
        args=(quiz,),
    )


def _precision(exercise: Exercise) -> str:
    if not exercise.decimals:
        return _("A whole number; it must be met exactly.")
    tolerance = f"{exercise.tolerance:.{exercise.decimals + 1}f}"
    return _("Decimal places: {n}. Right within ±{tolerance}.", n=exercise.decimals, tolerance=tolerance)


def _feedback(exercise: Exercise, progress: Progress) -> None:
    unread = st.session_state.pop("_unread_answer", None)
    if unread is not None:
        st.warning(
            _(
                "“{text}” cannot be read as a number; it does not count. Write it like −0.5 or 12, with a point "
                "before the decimals and no separator of thousands.",
                text=plain(unread),
            ),
            icon=":material/info:",
        )
    elif progress.right:
        st.success(_("Right: {answer}", answer=exercise.printed), icon=":material/check_circle:")
    elif progress.revealed:
        st.info(_("The answer is {answer}.", answer=exercise.printed), icon=":material/visibility:")
    elif progress.tried:
        st.error(_("“{text}” is not right yet. Try again.", text=plain(progress.text)), icon=":material/cancel:")


def _take(quiz: Quiz, key: str) -> None:
    text, place = st.session_state[key], quiz.shown
    try:
        quiz.progress[place] = answer(quiz.progress[place], quiz.questions[place], text)
    except ValueError:
        st.session_state["_unread_answer"] = text


def _reveal(quiz: Quiz) -> None:
    quiz.progress[quiz.shown] = reveal(quiz.progress[quiz.shown])


def download_results(quiz: Quiz) -> None:
    """The answered questions as CSV."""
    header = (
        _("question"),
        _("given answer"),
        _("right answer"),
        _("right?"),
        _("attempts"),
        _("solution shown"),
    )
    yes = {True: _("yes"), False: _("no")}
    rows = [
        (question_text(quiz.trace, e), p.given, e.rounded, yes[p.right], p.attempts, yes[p.revealed])
        for e, p in zip(quiz.questions, quiz.progress, strict=True)
        if p.tried
    ]
    st.download_button(
        _("Download the results (CSV)"),
        table_csv(header, rows),
        file_name="exercises.csv",
        mime="text/csv",
        icon=":material/download:",
        disabled=not rows,
        on_click="ignore",
    )
