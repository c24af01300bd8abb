"""Models on disk: what is written is read back, and nothing else is."""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from multivalid import loading, storage
from multivalid.batch.certificate import Certificate
from multivalid.calibration import Calibration
from multivalid.errors import ModelFileError

DATA = pd.DataFrame({
    "y": np.random.default_rng(0).beta(2, 4, 400),
    "p": np.random.default_rng(1).beta(2, 2, 400),
    "site": np.random.default_rng(2).choice(["north", "süd", "west"], 400),
    "age": np.random.default_rng(3).integers(18, 90, 400),
    "q": 0.6 + np.random.default_rng(1).beta(2, 2, 400) / 2,
    "wet": np.random.default_rng(4).random(400) < 0.3,
})  # fmt: skip
GROUPS = ["site", "wet", mv.bins("age", 3), mv.cross("site", "wet"), "age >= 30 and site != 'west'"]


def fitted(mode: str, **options: Any) -> Calibration:
    return mv.multicalibrate("y", "p", groups=GROUPS, data=DATA, mode=mode, holdout=0.3, **options)


def fitted_pair(mode: str, **options: Any) -> Calibration:
    return mv.multicalibrate(
        "y", ["p", "q"], groups=GROUPS, data=DATA, mode=mode, holdout=0.3, property="quantile_cvar:0.7", **options
    )  # fmt: skip


def columns(model: Calibration) -> Any:
    return "p" if len(model.grids) == 1 else ["p", "q"]


def body_of(model: Calibration, path: Path) -> bytes:
    model.save(path)
    return path.read_bytes()


def read(body: bytes) -> Calibration:
    """What `load` does, without the file."""
    content = storage.decode(body, "model")
    if not isinstance(content.get("kind"), str) or content["kind"] not in loading.READERS:
        raise ModelFileError("another kind")
    reader = mv.JointCalibration if content["kind"] == mv.JointCalibration.kind else mv.Calibration
    return reader.from_json(content)


KINDS: dict[str, Callable[[], Calibration]] = {
    "theorem": lambda: fitted("theorem", m=25),
    "paper": lambda: fitted("paper", m=20, alpha=0.01),
    "practical": lambda: fitted("practical"),
    "pair, theorem": lambda: fitted_pair("theorem", m=(8, 12), lipschitz=(3.0, None)),
    "pair, practical": lambda: fitted_pair("practical"),
}


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest) -> Calibration:
    return KINDS[request.param]()


class TestRoundTrip:
    def test_everything_comes_back(self, model: Calibration, tmp_path: Path) -> None:
        model.save(tmp_path / "model.json")
        again = mv.load(tmp_path / "model.json")
        np.testing.assert_array_equal(again.predict(columns(model), data=DATA), model.predict(columns(model), data=DATA))
        assert again.to_json() == model.to_json()
        assert again.property == model.property
        assert again.grid == model.grid
        assert list(again.patches) == list(model.patches)
        assert again.groups.names == model.groups.names
        assert again.certificate.summary() == model.certificate.summary()
        np.testing.assert_array_equal(again.certificate.potential, model.certificate.potential)
        assert again.levels is None
        again.save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()

    def test_audit_of_new_rows(self, model: Calibration) -> None:
        rng = np.random.default_rng(9)
        new = DATA.assign(p=rng.uniform(0, 1, 400))  # wider than any prediction seen
        assert model.audit("y", columns(model), data=new).error < 1

    def test_columns_that_moved(self, model: Calibration, tmp_path: Path) -> None:
        again = read(body_of(model, tmp_path / "model.json"))
        moved = DATA[DATA.columns[::-1]]
        np.testing.assert_array_equal(again.predict(columns(model), data=moved), model.predict(columns(model), data=DATA))

    @pytest.mark.parametrize(
        "text", ["mean", "quantile:0.9", "expectile:0.3", "huber:0.1", "event:0.2:0.6", "ratio:2:1", "moment:2"]
    )
    def test_properties(self, text: str, tmp_path: Path) -> None:
        model = fitted("theorem", property=text, m=10)
        assert read(body_of(model, tmp_path / "model.json")).property == mv.parse(text)

    def test_a_certificate_without_updates_has_no_least_drop(self, tmp_path: Path) -> None:
        model = mv.multicalibrate([0.5, 0.5], [0.5, 0.5], groups=[], mode="theorem", m=5)
        assert np.isnan(read(body_of(model, tmp_path / "model.json")).certificate.least_drop)

    def test_blocked_cells(self, tmp_path: Path) -> None:
        model = mv.multicalibrate([0.5] * 8, [0.1] * 8, groups=[], property="median", mode="paper", m=20, alpha=0.2, lipschitz=1.0)
        assert model.certificate.status == "blocked"
        assert read(body_of(model, tmp_path / "model.json")).certificate.blocked == model.certificate.blocked

    def test_blocked_cells_without_slopes(self) -> None:
        nan, model = float("nan"), fitted("theorem", m=25)
        plain = model.certificate.to_json() | {"blocked": [[0, 1, 0.5, 0.1, None, None]]}
        (cell,) = Certificate.from_json(plain).blocked
        assert str(cell) == str(type(cell)(0, 1, 0.5, 0.1, nan, nan))
        assert Certificate.from_json(plain).to_json() == plain


class TestUserProperties:
    def test_a_function_cannot_be_saved_but_a_name_can(self, tmp_path: Path) -> None:
        prop = mv.Property.from_identification(lambda g, y: (y <= g) - 0.37, name="unnamed so far")
        model = mv.multicalibrate([0.1, 0.9], [0.5, 0.5], groups=[], property=prop, mode="theorem", m=5)
        with pytest.raises(mv.MultivalidError, match=r"built from a function.*multivalid\.register\('my property', prop\)"):
            model.save(tmp_path / "model.json")
        assert not list(tmp_path.iterdir())
        mv.register("thirty-seven", prop)
        body = body_of(model, tmp_path / "model.json")
        assert read(body).property is prop
        text = json.loads(body)
        text["property"] = "somebody else's"
        with pytest.raises(ModelFileError, match="must be registered before loading"):
            read(signed(text))


class TestWriting:
    def test_a_write_that_fails_leaves_the_old_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "model.json"
        model = mv.multicalibrate([0.0, 1.0], [0.5, 0.5], groups=[], mode="theorem", m=5)
        before = body_of(model, path)

        def full(handle: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(mv.MultivalidError, match=r"cannot write .*No space left"):
            model.save(path)
        assert path.read_bytes() == before
        assert [file.name for file in tmp_path.iterdir()] == ["model.json"]

    def test_an_interrupted_write_leaves_nothing_behind(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(old: str, new: Path) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            storage.write_text(tmp_path / "model.json", "text")
        assert not list(tmp_path.iterdir())

    def test_a_path_that_cannot_be_written(self, tmp_path: Path) -> None:
        model = mv.multicalibrate([0.0, 1.0], [0.5, 0.5], groups=[], mode="theorem", m=5)
        with pytest.raises(mv.MultivalidError, match=r"cannot write .*missing.*No such file or directory"):
            model.save(tmp_path / "missing" / "model.json")
        with pytest.raises(mv.MultivalidError, match="cannot write"):
            model.save(tmp_path)


class TestReading:
    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (b"", "is not a model"),
            (b"\xff\xfe", "not UTF-8"),
            (b"[1, 2]", "checksum is missing"),
            (b"{}", "checksum is missing"),
            (b'{"checksum": "0"}', "checksum does not match"),
            (b'{"a": NaN, "checksum": "0"}', "NaN is not a number"),
            (b'{"a": 1, "a": 2, "checksum": "0"}', "a field stands twice"),
            (b"[" * 100_000, "is not a model"),
            (b'{"a":' * 50_000, "is not a model"),
            (b"9" * 10_000, "is not a model"),
        ],
    )
    def test_not_a_model(self, body: bytes, message: str, tmp_path: Path) -> None:
        path = tmp_path / "model.json"
        path.write_bytes(body)
        with pytest.raises(ModelFileError, match=message):
            mv.load(path)

    def test_no_file_no_size(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(ModelFileError, match="No such file"):
            mv.load(tmp_path / "none.json")
        with pytest.raises(ModelFileError, match="cannot read"):
            mv.load(tmp_path)
        monkeypatch.setattr(storage, "LARGEST", 3)
        (tmp_path / "big.json").write_text("[1, 2]")
        with pytest.raises(ModelFileError, match="larger than a model can be"):
            mv.load(tmp_path / "big.json")

    @pytest.mark.parametrize(
        ("path", "value", "message"),
        [
            (("version",), 1, "version 1; this release reads versions 2 and 3"),
            (("version",), True, "version"),
            (("kind",), "other", "another kind"),
            (("property",), 3, "property must be text"),
            (("property",), "quantile:7", "property"),
            (("predictor", "patches", 0), [99, 0, 1], "a patch must be"),
            (("predictor", "patches", 0), [0, 0, 25], "a patch must be"),
            (("predictor", "patches", 0), [0, 0.0, 1], "a patch must be"),
            (("predictor", "patches"), None, "the patches must be a list"),
            (("predictor", "more"), 1, "fields .'more'. are missing or unknown"),
            (("predictor", "grid", "lo"), 0.9, "grid"),
            (("predictor", "grid", "points", 0), 0.99, "grid points must be increasing"),
            (("certificate", "status"), "fine", "status must be one of"),
            (("certificate", "alpha"), None, "alpha must be a finite number"),
            (("certificate", "alpha"), 10**400, "alpha must be a finite number"),
            (("certificate", "updates"), -1, "updates must be a whole number"),
            (("certificate", "potential"), {}, "potential must be a list"),
            (("certificate", "blocked"), [[1, 2]], "a blocked cell must have 6 values"),
            (("groups", "names", 0), "someone", "names"),
            (("certificate",), [], "certificate must be an object"),
            (("more",), 1, "too many or too few"),
        ],
    )
    def test_edited(self, path: tuple[Any, ...], value: Any, message: str, tmp_path: Path) -> None:
        content = json.loads(body_of(fitted("theorem", m=25), tmp_path / "model.json"))
        place = content
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        with pytest.raises(ModelFileError, match=message):
            read(signed(content))


def signed(content: dict[str, Any]) -> bytes:
    """A body with the right checksum, whatever the content."""
    content = {name: value for name, value in content.items() if name != "checksum"}
    return json.dumps({**content, "checksum": storage.checksum(content)}, ensure_ascii=False).encode("utf-8", "surrogatepass")


STRANGE: list[Any] = [
    None, True, False, 0, -1, 1, 3, 10**6, 2**63, 10**400, -(10**400), 0.5, -0.0, 1e308, 1e-320, "", "x", "mean", "NaN", "\ud800", "é" * 50,
    [], {}, [[]], [None], {"": 0}, [0, 0, 0], "levels", "everyone",
]  # fmt: skip


class TestVersion2:
    """Files of the last release: their certificates lack what was added since."""

    def test_it_is_read(self, model: Calibration) -> None:
        content = json.loads(json.dumps(model.to_json())) | {"version": 2}
        for name in type(model.certificate).ADDED:
            del content["certificate"][name]
        again = read(signed(content))
        np.testing.assert_array_equal(again.predict(columns(model), data=DATA), model.predict(columns(model), data=DATA))
        assert again.certificate.error == model.certificate.error
        assert again.certificate.trivial is None
        assert again.to_json()["version"] == 3
        del content["certificate"]["note"]  # which version 2 had
        with pytest.raises(ModelFileError, match="note"):
            read(signed(content))

    def test_version_3_is_complete(self, model: Calibration) -> None:
        content = model.to_json()
        del content["certificate"]["trivial"]
        with pytest.raises(ModelFileError, match="trivial"):
            read(signed(content))


class TestFuzz:
    """20,000 damaged files over every kind of model: the library's own error, or exactly what the file says."""

    def test_damaged_bytes(self, model: Calibration, tmp_path: Path) -> None:
        body = body_of(model, tmp_path / "model.json")
        good, dice = model.to_json(), random.Random(0)
        for _ in range(1800):
            broken = bytearray(body)
            kind = dice.randrange(4)
            at = dice.randrange(len(broken))
            if kind == 0:
                broken[at] ^= 1 << dice.randrange(8)
            elif kind == 1:
                del broken[at:]
            elif kind == 2:
                del broken[at : at + dice.randrange(1, 30)]
            else:
                broken[at:at] = broken[dice.randrange(len(broken)) :][: dice.randrange(1, 30)]
            try:
                found = read(bytes(broken))
            except ModelFileError:
                continue
            assert found.to_json() == good

    def test_edited_content_with_a_right_checksum(self, model: Calibration, tmp_path: Path) -> None:
        content = json.loads(body_of(model, tmp_path / "model.json"))
        del content["checksum"]
        places = list(_places(content))
        dice, accepted = random.Random(1), 0
        for _ in range(2200):
            edited = copy.deepcopy(content)
            for _ in range(dice.choice([1, 1, 1, 2, 3])):
                _edit(edited, dice.choice(places), dice)
            try:
                found = read(signed(edited))
            except ModelFileError:
                continue
            # Numbers and names that could have been the model's own are the file's to say; but they must be read as they stand.
            accepted += 1
            assert _but_groups(found.to_json()) == _but_groups(edited)
            assert read(signed(found.to_json())).groups == found.groups  # a predicate may be written in other words
            if accepted % 20:
                continue
            try:
                predictions = found.predict(columns(model), data=DATA.head(5))
            except mv.MultivalidError:
                continue  # a column of another name, say
            assert predictions.shape[0] == 5
        assert 0 < accepted < 1800

    @pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "[" * 2000 + "]" * 2000])
    def test_numbers_that_json_does_not_have(self, model: Calibration, tmp_path: Path, text: str) -> None:
        body = body_of(model, tmp_path / "model.json").decode()
        content = json.loads(body)
        error = json.dumps(content["certificate"]["potential"][0])
        assert error in body
        with pytest.raises(ModelFileError):
            read(body.replace(error, text).encode())


def _but_groups(content: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != "groups"}


def _places(value: Any, path: tuple[Any, ...] = ()) -> Any:
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from _places(value[key], (*path, key))
    elif isinstance(value, list):
        for key in range(min(len(value), 12)):
            yield from _places(value[key], (*path, key))


def _edit(content: Any, path: tuple[Any, ...], dice: random.Random) -> None:
    place = content
    try:
        for key in path[:-1]:
            place = place[key]
        old = place[path[-1]]
    except (KeyError, IndexError, TypeError):
        return  # an edit before this one took the place away
    if isinstance(place, str):
        return
    kind = dice.randrange(6)
    if kind == 0 and isinstance(place, dict):
        del place[path[-1]]
    elif kind == 1 and isinstance(place, dict):
        place[dice.choice(["more", "", "kind"])] = dice.choice(STRANGE)
    elif kind == 2 and isinstance(place, list):
        place.insert(path[-1], copy.deepcopy(dice.choice(place)))
    elif kind == 3 and isinstance(old, (int, float)) and not isinstance(old, bool):
        place[path[-1]] = dice.choice([-old - 1, old + 1, old * 10**9, str(old), [old], float(old) + 0.5])
    elif kind == 4 and isinstance(old, list):
        place[path[-1]] = old[::-1] if dice.random() < 0.5 else old[:-1]
    else:
        place[path[-1]] = copy.deepcopy(dice.choice(STRANGE))


def test_threads_that_save_leave_the_umask_alone(tmp_path: Path) -> None:
    """Asking for the umask sets it: of two that ask at once, the second would take the first one's for the state to restore."""
    import os
    from concurrent.futures import ThreadPoolExecutor

    from multivalid.storage import write_text

    before = os.umask(0o027)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda k: write_text(tmp_path / f"{k}.json", "text"), range(200)))
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o640}
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
