"""The exercises page as a student uses it."""

import pytest
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from attn_core import Lesson, run_lesson
from attn_core.exercises import KINDS, ExerciseSettings, exercises

# A lesson with a question of every kind.
WHOLE = {
    "lang": "en",
    "second_text": "I am a dog you",
    "n_heads": "2",
    "head": "1",
    "positions": "learned",
    "mask": "causal",
}


@pytest.fixture(autouse=True)
def _without_the_legacy_router(monkeypatch):
    """AppTest starts every run with the router that reads pages/ by itself; the server leaves it at st.navigation."""
    start = PagesManager.__init__

    def start_without(self, *arguments, **options):
        start(self, *arguments, **options)
        PagesManager.uses_pages_directory = False

    monkeypatch.setattr(PagesManager, "__init__", start_without)


def opened(**query: str) -> AppTest:
    """The page in a fresh session."""
    at = AppTest.from_file("../../app.py", default_timeout=60)
    for name, value in ({"lang": "en"} | query).items():
        at.query_params[name] = value
    at.switch_page("pages/exercises.py")
    at.run()
    assert not at.exception
    return at


def questions(seed: int = 0, **query: str):
    lesson = Lesson.from_query({"lang": "en"} | query)
    return exercises(run_lesson(lesson), ExerciseSettings(exercise_seed=seed))


def give(at: AppTest, text: str) -> AppTest:
    field = next(field for field in at.text_input if field.label == "Your answer")
    field.set_value(text)
    return press(at, "Check")


def press(at: AppTest, label: str) -> AppTest:
    next(button for button in at.button if button.label == label).click()
    at.run()
    assert not at.exception
    return at


def words(at: AppTest) -> str:
    return "\n".join(element.value for element in at.markdown)


def disabled(at: AppTest, label: str) -> bool:
    return next(button for button in at.button if button.label == label).disabled


@pytest.mark.parametrize("place", range(len(KINDS)), ids=KINDS)
def test_the_right_answer_to_every_question_is_right(place):
    asked = questions(**WHOLE)[place]
    assert asked.kind == KINDS[place]
    at = opened(question=str(place), **WHOLE)
    assert asked.solution[-1] not in words(at)
    give(at, asked.printed)
    assert [box.value for box in at.success] == [f"Right: {asked.printed}"]
    assert "Right: 1 of 14. Tried: 1." in words(at)
    assert all(f"${line}$" in words(at) for line in asked.solution)


QUESTIONS = {
    "position": "Embedding plus position: what is entry {column} of x + p for **{row}**?",
    "head_size": (
        "The d_model = 4 columns of q, k and v are shared equally among 2 heads. How many columns has each head, dₖ?"
    ),
    "score": "Head 1: What is the score of the query of **{row}** and the key of **{key}**: their inner product?",
    "visible": (
        "The mask is causal: no query may look at a key after its own place. How many keys may **{row}** look at?"
    ),
    "output": "Head 1: What is entry {own} of the output of **{row}**?",
    "y": "The joined outputs of **{row}** times W_O: what is entry {column} of y?",
}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_questions_in_words(kind):
    """Keys are the second sentence's; a head's columns keep their numbers in the whole."""
    place, about = KINDS.index(kind), questions(**WHOLE)[KINDS.index(kind)].about
    at, names = opened(question=str(place), **WHOLE), {}
    if kind != "head_size":
        row, column = about.row, about.column
        tokens, keys = "the cat sat down".split(), "I am a dog you".split()
        names = {"row": f"{row}: {tokens[row]}", "key": f"{column}: {keys[column]}", "own": f"v{2 + column}"}
        names["column"] = f"{'y' if kind == 'y' else 'x'}{column}"
    assert QUESTIONS[kind].format(**names) in words(at).replace("\\", "")


def test_a_masked_weight_says_so():
    at = opened(question=str(KINDS.index("weight")), **WHOLE)
    assert "Head 1: The mask makes the z of hidden keys −∞. What attention weight" in words(at)


def test_what_there_is_to_see_before_a_mask_is_shown():
    at = opened(question=str(KINDS.index("visible")), **WHOLE)
    assert "The keys in their order:\nI · am · a · dog · you" in words(at)
    assert not at.get("plotly_chart")
    give(at, questions(**WHOLE)[KINDS.index("visible")].printed)
    assert at.get("plotly_chart")


def test_predict_first_then_reveal():
    at, asked = opened(question="3"), questions()[3]
    assert disabled(at, "Show the solution")
    give(at, "99")
    assert [box.value for box in at.error] == ["“99” is not right yet. Try again."]
    assert asked.solution[-1] not in words(at)
    press(at, "Show the solution")
    assert [box.value for box in at.info] == [f"The answer is {asked.printed}."]
    assert f"${asked.solution[-1]}$" in words(at)
    assert "Right: 0 of 10. Tried: 1." in words(at)
    assert "Your answer: 99" in words(at)
    assert not [field for field in at.text_input if field.label == "Your answer"]


def test_retry_after_a_wrong_answer_and_after_nonsense():
    at, asked = opened(question="2"), questions()[2]
    give(at, "two *thirds*")
    assert at.warning[0].value.startswith(r"“two \*thirds\*” cannot be read as a number; it does not count.")
    assert "Tried: 0." in words(at)
    give(at, "-50")
    give(at, asked.printed)
    assert at.success
    assert not at.warning
    assert "Right: 1 of 10. Tried: 1." in words(at)


def test_steps_keep_the_progress():
    at = opened()
    give(at, "99")
    press(at, "Forward")
    assert "Question 2" in [heading.value for heading in at.subheader]
    give(at, questions()[1].printed)
    press(at, "Back")
    assert "Right: 1 of 10. Tried: 2." in words(at)
    assert next(field for field in at.text_input if field.label == "Your answer").value == "99"


def test_new_numbers_change_the_seed_and_keep_the_old_progress():
    at = opened(exercise_seed="7")
    give(at, questions(7)[0].printed)
    press(at, "New numbers")
    seed = next(field for field in at.number_input if field.label == "Your seed")
    assert seed.value != 7
    assert "Right: 0 of 10. Tried: 0." in words(at)
    seed.set_value(7)
    at.run()
    assert "Right: 1 of 10. Tried: 1." in words(at)


def test_the_results_can_be_taken_along():
    at = opened(text="=SUM(1) the cat")
    assert at.get("download_button")[0].proto.disabled
    give(at, "１２")
    button = at.get("download_button")[0].proto
    assert not button.disabled


def test_the_table_has_one_row_per_answered_question(monkeypatch):
    written = []
    monkeypatch.setattr("pages.shared.quiz.table_csv", lambda header, rows: written.append((header, list(rows))) or b"")
    at = opened()
    give(at, "99")
    press(at, "Show the solution")
    header, rows = written[-1]
    assert header == ("question", "given answer", "right answer", "right?", "attempts", "solution shown")
    assert rows == [
        (
            "At which position, counted from 0, is the 1 in the one-hot row of 1: cat? That is its ID.",
            99.0,
            questions()[0].rounded,
            "no",
            1,
            "yes",
        )
    ]


def test_bad_links_say_so_and_leave_the_page():
    at = opened(question="99", exercise_seed="x")
    assert len(at.warning) == 2
    assert "Question 1" in [heading.value for heading in at.subheader]


@pytest.mark.parametrize("lang", ["ja", "en"])
@pytest.mark.parametrize("text", ["one", "<script> $x^2$ **b** `c` {row}", "the the the"])
def test_any_text_can_be_asked_about(lang, text):
    for place in (0, 4, 7):
        assert opened(lang=lang, text=text, question=str(place)).title


@pytest.mark.parametrize("lang", ["ja", "en"])
@pytest.mark.parametrize("mask", ["padding", "drawn"])
def test_every_mask_can_be_asked_about(lang, mask):
    place = str([kind for kind in KINDS if kind not in ("position", "head_size", "y")].index("visible"))
    at = opened(lang=lang, mask=mask, padding="1", hidden="0:1 2:0", question=place)
    assert ("[PAD]" in words(at).replace("\\", "")) == (mask == "padding")
    assert bool(at.get("plotly_chart")) == (mask == "drawn")


def test_a_hidden_key_reads_as_minus_infinity_in_the_table():
    at = opened(question=str(KINDS.index("weight")), **WHOLE)
    row = questions(**WHOLE)[KINDS.index("weight")].about.row
    numbers = at.dataframe[0].value["z"].tolist()
    assert [text == "−∞" for text in numbers] == [key > row for key in range(5)]
    assert at.dataframe[0].value.columns.tolist() == ["", "z"]
