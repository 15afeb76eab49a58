"""The training page, run without a browser: before, during and after a run, and what its link holds."""

import numpy as np
import pytest

from attn_core.learning import LearningSettings, train, untrained
from attn_core.learning_examples import answers, ideal_matrix, learned_weights
from pages.shared import gate
from pages.shared.jobs import Gate
from tests.pages.reading import address, charts, figure, tables, warnings, words

PAGE = "training"
STEPS = 20


def settings(**fields) -> LearningSettings:
    return LearningSettings(**({"learning_steps": STEPS} | fields))


def trained(app):
    app = app.button(key="train").click().run()
    assert not app.exception
    return app


def metrics(app) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def keys(app) -> set[str]:
    return {button.key for button in app.button}


def test_before_training(open_page):
    app, start = open_page(PAGE, lang="en", learning_seed="11"), untrained(LearningSettings(learning_seed=11))
    assert not app.exception
    assert app.title[0].value == "Training"
    assert "train" in keys(app)
    assert "**After 0 of 400 steps**" in words(app)
    assert metrics(app)["unseen answers right"] == f"{start.latest.accuracy:.1%}"
    assert metrics(app)["weight on target"] == f"{start.latest.closeness[0]:.3f}"
    shown = figure(app, "learning_weights")
    np.testing.assert_allclose(shown["data"][0]["z"], start.latest.weights[0, 0].round(decimals=2))
    assert not shown.get("frames")
    assert set(charts(app)) == {"learning_weights", "learning_ideal"}, "nothing has been learned yet"
    assert figure(app, "learning_ideal")["data"][0]["z"] == ideal_matrix(LearningSettings()).values.tolist()


def test_training_shows_what_the_run_gives(open_page):
    app = trained(open_page(PAGE, lang="en", learning_seed="12", learning_steps=str(STEPS)))
    *_, last = train(settings(learning_seed=12))
    assert "train" not in keys(app)
    assert metrics(app)["unseen answers right"] == f"{last.latest.accuracy:.1%}"
    assert metrics(app)["loss on unseen"] == f"{last.latest.loss:.4f}"
    shown = figure(app, "learning_weights")
    expected = learned_weights(last.settings, last)
    for frame, matrix in zip(shown["frames"], expected, strict=True):
        np.testing.assert_allclose(frame["data"][0]["z"], matrix.values.round(decimals=2))
    np.testing.assert_allclose(shown["data"][0]["z"], expected[-1].values.round(decimals=2))
    assert [step["label"].split(":")[0] for step in shown["layout"]["sliders"][0]["steps"]] == [
        f"step {snapshot.step}" for snapshot in last.snapshots
    ]
    loss = figure(app, "learning_loss")["data"]
    assert (loss[0]["y"], loss[1]["y"]) == (list(last.losses), [snapshot.loss for snapshot in last.snapshots])
    np.testing.assert_allclose(figure(app, "learning_W_Q_1")["data"][0]["z"], last.after[0].w_q.round(decimals=2))
    np.testing.assert_allclose(figure(app, "learning_W_V_0")["data"][0]["z"], last.before[0].w_v.round(decimals=2))


def test_the_link_of_a_run_shows_it_on_a_server_that_has_not_made_it(open_page, monkeypatch):
    query = {"lang": "en", "task": "copy", "learning_seed": "13", "learning_steps": str(STEPS)}
    first = trained(open_page(PAGE, **query))
    assert address(first) == query | {"trained": "true"}
    monkeypatch.setattr(gate, "GATE", Gate(2))
    again = open_page(PAGE, **address(first))
    assert "train" not in keys(again)
    assert metrics(again) == metrics(first)


def test_a_link_without_a_run_shows_none_though_the_server_knows_it(open_page):
    query = {"lang": "en", "task": "copy", "learning_seed": "18", "learning_steps": str(STEPS)}
    before = metrics(open_page(PAGE, **query))
    assert metrics(trained(open_page(PAGE, **query))) != before
    again = open_page(PAGE, **query)
    assert "train" in keys(again)
    assert metrics(again) == before


def test_the_answers(open_page):
    chosen = settings(task="recall", learning_seed=14, shown_example=3)
    app = trained(open_page(PAGE, lang="en", task="recall", learning_seed="14", learning_steps="20", shown_example="3"))
    *_, last = train(chosen.of_run)
    table = tables(app)[0]
    expected = answers(chosen, last.latest)
    assert table.index.tolist() == [str(answer.place) for answer in expected]
    assert table["right answer"].tolist() == [answer.right for answer in expected]
    assert table["model's answer"].tolist() == [answer.given for answer in expected]
    assert table["its probability"].tolist() == [f"{answer.probability:.3f}" for answer in expected]
    assert table[""].tolist() == ["✓" if answer.given == answer.right else "✗" for answer in expected]


def test_stepping_back_through_the_run(open_page):
    app = trained(open_page(PAGE, lang="en", learning_seed="15", learning_steps=str(STEPS)))
    *_, last = train(settings(learning_seed=15))
    assert app.button(key="step_right").disabled
    for snapshot in reversed(last.snapshots[:-1]):
        app = app.button(key="step_left").click().run()
        assert address(app)["shown_step"] == str(snapshot.step)
        assert metrics(app)["unseen answers right"] == f"{snapshot.accuracy:.1%}"
        shown = figure(app, "learning_weights")
        assert shown["layout"]["sliders"][0]["active"] == last.snapshots.index(snapshot)
        np.testing.assert_allclose(shown["data"][0]["z"], snapshot.weights[0, 0].round(decimals=2))
    assert app.button(key="step_left").disabled


def test_another_example_is_shown_without_training_anew(open_page, monkeypatch):
    app = trained(open_page(PAGE, lang="en", learning_seed="16", learning_steps=str(STEPS)))
    monkeypatch.setattr(gate, "want", lambda _key: pytest.fail("trained anew"))
    app = app.selectbox(key="shown_example").set_value(5).run()
    assert "train" not in keys(app)
    *_, last = train(settings(learning_seed=16))
    shown = figure(app, "learning_weights")["data"][0]["z"]
    np.testing.assert_allclose(shown, last.latest.weights[0, 5].round(decimals=2))


def test_two_layers_are_shown_one_at_a_time(open_page):
    query = {"lang": "en", "task": "induction", "model_layers": "2", "learning_seed": "17", "learning_steps": "10"}
    app = trained(open_page(PAGE, **query))
    assert figure(app, "learning_weights")["layout"]["yaxis"]["ticktext"] == [
        figure(app, "learning_weights")["layout"]["xaxis"]["ticktext"][place] for place in (1, 3, 5)
    ]
    app = app.button_group(key="shown_layer").set_value(1).run()
    assert address(app)["shown_layer"] == "1"
    names = figure(app, "learning_weights")["layout"]
    assert names["yaxis"]["ticktext"] == names["xaxis"]["ticktext"][6:]
    assert [trace["name"] for trace in figure(app, "learning_accuracy")["data"]] == [
        "unseen answers right",
        "on target, layer 0",
        "on target, layer 1",
        "guess without matching",
    ]


@pytest.mark.parametrize("lang", ["ja", "en"])
def test_next_words_stand_beside_what_can_be_known(open_page, lang):
    app = trained(open_page(PAGE, lang=lang, task=f"next_word_{lang}", learning_seed="18", learning_steps="10"))
    assert "learning_ideal" not in charts(app)
    losses = [float(loss) for loss in tables(app)[0].iloc[:, 0]]
    assert losses[0] > losses[1] > losses[2]
    *_, last = train(LearningSettings(task=f"next_word_{lang}", learning_seed=18, learning_steps=10))
    assert losses[3] == float(f"{last.latest.loss:.4f}")
    levels = [trace["y"][0] for trace in figure(app, "learning_loss")["data"][2:]]
    assert [float(f"{level:.4f}") for level in levels] == losses[:3]
    assert len(tables(app)[1].columns) == 7


def test_a_run_asked_for_shows_its_end(open_page):
    app = open_page(PAGE, lang="en", learning_seed="19", learning_steps=str(STEPS), shown_step="0")
    app = trained(app)
    assert "shown_step" not in address(app)
    assert f"**After {STEPS} of {STEPS} steps**" in words(app)


def test_what_a_link_cannot_hold_is_told(open_page):
    app = open_page(PAGE, lang="en", task="sort", learning_steps="99999", learning_rate="x", model_layers="7")
    assert not app.exception
    assert len(warnings(app)) == 4
    assert "1 … 2000" in "\n".join(warnings(app))
    assert "**After 0 of 400 steps**" in words(app)


def test_japanese(open_page):
    app = open_page(PAGE, lang="ja", task="recall")
    assert app.title[0].value == "学習"
    assert app.selectbox(key="task").options[2] == "同じキーを探す"
    assert "正しい場所の重み" in metrics(app)
