"""Exercises: predict a number of the lesson, then see how it is worked out."""

import streamlit as st

from attn_core.answers import answer
from attn_core.exercises import ExerciseSettings, exercises, given, given_numbers, is_right
from attn_core.figures.falk import falk
from attn_core.figures.grid import grid
from attn_core.formulas import ATTENTION
from attn_core.stages import Stage
from pages.shared.controls import limits
from pages.shared.lecture import closing, lines, opening
from pages.shared.lesson import current_trace
from pages.shared.link import tied
from pages.shared.picker import chart, row_in_words, step_buttons, terms_in_words
from pages.shared.quiz import (
    answer_form,
    bold,
    current_quiz,
    download_results,
    new_numbers,
    numbers_table,
    question_text,
    score,
    tab,
)
from pages.shared.shell import alone, require_shell
from pages.shared.text import _, plain, prose


def question() -> None:
    """The question that is shown, its answer, and the score."""
    trace = current_trace()
    quiz = current_quiz(trace)
    exercise, progress = quiz.questions[quiz.shown], quiz.progress[quiz.shown]

    with st.container(horizontal=True, vertical_alignment="bottom"):
        seed_limits = limits(ExerciseSettings, "exercise_seed")
        st.number_input(_("Your seed"), width=180, **seed_limits, **tied(ExerciseSettings, "exercise_seed"))
        st.button(_("New numbers"), icon=":material/casino:", key="new_numbers", on_click=new_numbers)
        download_results(quiz)
    st.segmented_control(
        _("Question"),
        range(len(quiz.questions)),
        format_func=lambda place: tab(quiz, place),
        required=True,
        **tied(ExerciseSettings, "question"),
    )
    st.markdown(score(quiz))

    st.subheader(_("Question {n}", n=quiz.shown + 1), anchor=False)
    st.markdown(question_text(trace, exercise, bold))
    picture, numbers = st.columns([3, 2], gap="large")
    with picture:
        shown, cell = given(trace, exercise, solved=progress.finished), exercise.about
        if shown is not None:
            product = isinstance(shown, Stage)
            figure = (falk if product else grid)(shown, cell.row, cell.column)
            given_words = terms_in_words(shown, cell.row, cell.column) if product else row_in_words(shown, cell.row)
            chart(figure, f"exercise_{exercise.kind}", f"{question_text(trace, exercise)} {given_words}")
        elif exercise.kind in ("one_hot", "visible"):
            of_all = exercise.kind == "one_hot"
            st.markdown(_("The vocabulary in its order:") if of_all else _("The keys in their order:"))
            words = trace.vocabulary.words if of_all else trace.key_tokens
            st.markdown(" · ".join(plain(word) for word in words))
        else:
            st.markdown(prose("exercises", exercise.kind))
    with numbers:
        numbers_table(given_numbers(trace, exercise))
        answer_form(quiz)
        if progress.finished:
            st.markdown(_("Worked solution:"))
            lines(exercise.solution)
    step_buttons(ExerciseSettings, "question", range(len(quiz.questions)), quiz.shown)


require_shell()
opening("exercises", ATTENTION)
alone(question)
closing("exercises", exercises, is_right, answer)
