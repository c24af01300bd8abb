"""At the end of a notebook's cell a result shows the words of its summary, whatever characters names hold."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest

import multivalid as mv

HOSTILE = "<script>alert('x & y')</script>"


class Balanced(HTMLParser):
    """Fails on a tag that is not closed, or closed twice."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def fitted() -> tuple[mv.Calibration, pd.DataFrame]:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"site": rng.choice([HOSTILE, "b"], 400), "p": 0.5})
    data["y"] = (rng.random(400) < np.where(data["site"] == "b", 0.2, 0.8)).astype(float)
    return mv.multicalibrate("y", "p", groups=["site"], data=data, mode="theorem", m=10), data


def results() -> dict[str, Any]:
    y = [float(k % 10) for k in range(200)]
    several = mv.multicalibrate(y, [[2.0, 5.0]] * 200, groups=[], property="quantiles:0.2,0.8", mode="theorem", m=10)
    pair = mv.multicalibrate([0.0, 1.0] * 20, [[0.5, 0.9]] * 40, groups=[], property="mean_variance", mode="theorem", m=10)
    return {
        "several": several, "several certificate": several.certificate, "several audit": several.audit(y, [[2.0, 5.0]] * 200),
        "pair": pair, "pair certificate": pair.certificate, "pair audit": pair.audit([0.0, 1.0] * 20, [[0.5, 0.9]] * 40),
        "verdict": mv.scope("mean"), "verdict with a counterexample": mv.scope("variance"),
    }  # fmt: skip


def test_names_are_shown_and_never_run(fitted: tuple[mv.Calibration, pd.DataFrame]) -> None:
    model, data = fitted
    audit = mv.audit("y", "p", groups=["site"], data=data)
    page = audit._repr_html_()
    assert Balanced(page).seen == {"div", "p", "strong", "pre"}
    assert HOSTILE in unescape(page)
    assert audit.summary() in unescape(page)
    assert model.certificate.summary() in unescape(model._repr_html_())
    assert model.certificate.summary() in unescape(model.certificate._repr_html_())


@pytest.mark.parametrize("name", results())
def test_every_kind_of_result_has_its_summary(name: str) -> None:
    thing = results()[name]
    page = thing._repr_html_()
    assert Balanced(page).seen == {"div", "p", "strong", "pre"}
    said = (
        thing.certificate.summary() if isinstance(thing, mv.Calibration) else str(thing) if "audit" not in name else thing.summary()
    )
    assert said in unescape(re.sub(r"</?pre>", "", page))
