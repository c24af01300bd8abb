"""The door: inputs, frames, saved models, audits."""

import json

import numpy as np
import pandas as pd
import pytest

import multivalid as mv
from multivalid.errors import InputError, ModelFileError
from multivalid.joint.certificate import JointCertificate
from multivalid.storage import checksum


def data(n=3000, seed=0):
    random = np.random.default_rng(seed)
    group = random.random(n) < 0.3
    y = 1000 * random.gamma(1.0, 1.0, n) * np.where(group, 3.0, 1.0)
    said = np.column_stack([3000 + 1000 * random.random(n), 4500 + 1000 * random.random(n)])
    return y, said, group


@pytest.fixture(params=["practical", "theorem"])
def model(request):
    y, said, group = data()
    return mv.multicalibrate(y, said, groups=[group], property="quantile_cvar:0.9", mode=request.param, lipschitz=(1e-4, None))


def test_save_load_predict(model, tmp_path):
    y, said, group = data(seed=1)
    model.save(tmp_path / "model.json")
    again = mv.load(tmp_path / "model.json")
    assert isinstance(again, mv.JointCalibration)
    np.testing.assert_array_equal(again.predict(said, groups=[group]), model.predict(said, groups=[group]))
    assert again.certificate.to_json() == model.certificate.to_json()
    assert again.certificate.summary() == model.certificate.summary()
    assert again.property == mv.QuantileCVaR(0.9)
    assert repr(again) == repr(model)
    assert again.grids == model.grids == model.grid
    found = again.audit(y, said, groups=[group])
    assert found.errors == model.audit(y, said, groups=[group]).errors


def test_practical_improves_on_new_rows():
    y, said, group = data()
    fitted = mv.multicalibrate(y, said, groups=[group], property="quantile_cvar:0.9")
    fresh, new, inside = data(20_000, seed=5)
    before = mv.audit(fresh, new, groups=[inside], property="quantile_cvar:0.9")
    after = fitted.audit(fresh, new, groups=[inside])
    assert after.errors[0] < 0.1 * before.errors[0]
    assert after.errors[1] < 0.2 * before.errors[1]
    calibrated = fitted.predict(new, groups=[inside])
    assert (calibrated[:, 1] >= calibrated[:, 0]).all()
    assert "off beyond chance" in before.summary()
    assert fitted.certificate.joint_score[1] < fitted.certificate.joint_score[0]


def test_frames_and_columns():
    y, said, group = data()
    frame = pd.DataFrame({"loss": y, "var": said[:, 0], "es": said[:, 1], "kind": np.where(group, "a", "b")})
    named = mv.multicalibrate("loss", ["var", "es"], groups=["kind"], data=frame, property="quantile_cvar:0.9")
    plain = mv.multicalibrate(y, said, groups=["kind"], data=frame, property="quantile_cvar:0.9")
    out = named.predict(["var", "es"], data=frame, output=("var2", "es2"))
    np.testing.assert_array_equal(out[["var2", "es2"]].to_numpy(), plain.predict(said, data=frame))
    found = mv.audit("loss", ["var", "es"], groups=["kind"], data=frame, property="quantile_cvar:0.9")
    assert isinstance(found.to_frame(), pd.DataFrame)
    assert len(found.to_frame()) == 3
    assert found.error == max(found.errors)
    assert "quantile 0.9" in repr(found)


def test_holdout_is_reported():
    y, said, group = data()
    for mode in ("practical", "theorem"):
        found = mv.multicalibrate(y, said, groups=[group], property="quantile_cvar:0.9", mode=mode, m=10, holdout=0.3).certificate
        assert found.holdout_error is not None
        assert all(np.isfinite(found.holdout_error))
        assert "held out" in found.summary()


Y, SAID = np.array([0.0, 0.5, 1.0, 0.25]), np.full((4, 2), 0.5)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"y_pred": SAID[:, 0]}, "2 columns"),
        ({"y_pred": np.full((4, 3), 0.5)}, "2 columns"),
        ({"y_pred": SAID[:3]}, "rows"),
        ({"y_pred": [SAID[:, 0], SAID[:3, 1]]}, "y_pred"),
        ({"property": "quantile_cvar:1.5"}, "tau"),
        ({"property": "quantile_cvar"}, "takes 1 parameter"),
        ({"property": "quantile_cvr:0.9"}, "did you mean"),
        ({"m": (4, 4, 4)}, "one value or two"),
        ({"m": 0}, "m must"),
        ({"alpha": (0.1, -1)}, "alpha"),
        ({"mode": "theorem", "alpha": 1e-12}, "out of reach"),
        ({"mode": "theorem", "grid": mv.Grid.uniform(0, 1, 5)}, "anywhere in"),
        ({"mode": "theorem", "grid": "fine"}, "Grid"),
        ({"grid": "fine"}, "Grid"),
        ({"mode": "paper", "y_true": 2 * Y}, "labels in"),
        ({"mode": "paper", "m": (4, 5)}, "one m"),
        ({"mode": "fast"}, "mode must"),
        ({"max_updates": -1}, "max_updates"),
        ({"sample_weight": np.zeros(4)}, "zero for every row"),
    ],
)
def test_bad_input(change, text):
    arguments = {"y_true": Y, "y_pred": SAID, "groups": [], "property": "quantile_cvar:0.9", **change}
    with pytest.raises(InputError, match=text):
        mv.multicalibrate(arguments.pop("y_true"), arguments.pop("y_pred"), **arguments)


def test_an_audit_cuts_either_prediction_into_five_levels():
    random = np.random.default_rng(0)
    y, said = random.random(500), np.column_stack([random.random(500), random.choice([0.1, 0.2, 0.4], 500)])
    found = mv.audit(y, said, groups=[], property="mean_variance")
    assert [len(grid) for grid in found.grids] == [5, 3]  # few distinct predictions are taken as they are
    sizes = np.bincount(found.grids[0].round(said[:, 0]))
    assert sizes.min() > 70
    assert sizes.sum() == 500


def test_bad_audit_and_output():
    with pytest.raises(InputError, match="2 columns"):
        mv.audit(Y, SAID[:, 0], groups=[], property="mean_variance")
    with pytest.raises(InputError, match="two Grids"):
        mv.audit(Y, SAID, groups=[], property="mean_variance", grid=mv.Grid.uniform(0, 1, 3))
    fitted = mv.multicalibrate(Y, SAID, groups=[], property="mean_variance", mode="theorem")
    with pytest.raises(InputError, match="needs data"):
        fitted.predict(SAID, output=("a", "b"))
    with pytest.raises(InputError, match="name 2 columns"):
        fitted.predict(SAID, data=pd.DataFrame({"x": Y}), output="a")


def spread():
    return mv.Pair.from_target(mv.Mean(), lambda g, y: np.abs(y - g), range=(0, 1), name="spread")


def deviation():
    return mv.Pair.from_identification(mv.Mean(), lambda g, s, y: s**2 - (y - g) ** 2, range=(0, 1), name="std")


@pytest.mark.parametrize(("make", "mode"), [(spread, "theorem"), (spread, "practical"), (deviation, "theorem")])
def test_a_function_cannot_be_saved_but_a_name_can(make, mode, tmp_path):
    pair, name, path = make(), f"mean and {make.__name__}, {mode}", tmp_path / "m.json"
    fitted = mv.multicalibrate(Y, SAID, groups=[], property=pair, mode=mode)
    with pytest.raises(InputError, match=r"built from a function.*multivalid\.register\('my pair', pair\)"):
        fitted.save(path)
    assert not path.exists()
    assert mv.register(name, pair) is pair
    fitted.save(path)
    again = mv.load(path)
    assert again.property is pair
    np.testing.assert_array_equal(again.predict(SAID), fitted.predict(SAID))
    with pytest.raises(ModelFileError, match=r"somebody else's.*must be registered before loading"):
        mv.JointCalibration.from_json({**fitted.to_json(), "property": "somebody else's"})
    with pytest.raises(InputError, match="is a pair"):
        mv.parse(name)


def test_the_bayes_pair_of_a_registered_property_has_its_name():
    lower = mv.Property.from_identification(lambda g, y: (y <= g) - 0.3, name="lower")
    fitted = mv.multicalibrate(Y, SAID, groups=[], property=mv.BayesPair(lower), mode="theorem")
    with pytest.raises(InputError, match="built from a function"):
        fitted.to_json()
    mv.register("three in ten", lower)
    assert fitted.to_json()["property"] == "bayes:three in ten"
    assert mv.JointCalibration.from_json(fitted.to_json()).property == mv.BayesPair(lower)


def test_a_model_of_one_kind_is_not_read_as_another():
    single = mv.multicalibrate(Y, Y, groups=[], mode="theorem", m=4).to_json()
    joint = mv.multicalibrate(Y, SAID, groups=[], property="mean_variance", mode="theorem", m=4).to_json()
    for reader, other in ((mv.Calibration, joint), (mv.JointCalibration, single)):
        with pytest.raises(ModelFileError, match=r"the model is a .*, not a"):
            reader.from_json(other)
    with pytest.raises(ModelFileError, match="property must be a pair, got 'mean'"):
        mv.JointCalibration.from_json({**joint, "property": "mean"})
    for text in ("mean_variance", "variance"):
        with pytest.raises(ModelFileError, match=f"calibrated alone, got '{text}'"):
            mv.Calibration.from_json({**single, "property": text})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda c: c.update(version=9), "version 9"),
        (lambda c: c.update(property="mean"), "property must be a pair, got 'mean'"),
        (lambda c: c.update(property=7), "property must be text, got 7"),
        (lambda c: c.update(property="quantile_cvar:9"), "property: tau must be"),
        (lambda c: c.update(extra=1), r"fields .'extra'."),
        (lambda c: c.update(certificate=[]), "certificate must be an object"),
        (lambda c: c["certificate"].update(status="fine"), "status must be one of"),
        (lambda c: c["certificate"].update(alpha=[1.0]), "alpha must be a list of 2"),
        (lambda c: c["certificate"].update(updates=[1, -1]), "updates must be a whole number"),
        (lambda c: c["certificate"].update(error=["a", 1.0]), "error must be a finite number"),
        (lambda c: c["certificate"].update(blocked=[[0, 0]]), "a blocked cell must be a list of 6"),
        (lambda c: c["certificate"].update(note=None), "note must be text"),
        (lambda c: c["certificate"].pop("passes"), r"fields .'passes'. are missing"),
        (lambda c: c["predictor"].update(kind="levels"), "predictor must be an object of kind"),
        (lambda c: c["predictor"].update(grids=[]), "grids must be a list of 2"),
        (lambda c: c["predictor"].update(patches=[[0, 0, 0, 0, 99]]), "a patch must be"),
        (lambda c: c["predictor"].update(patches=[[2, 0, 0, 0, 0]]), "a patch must be"),
        (lambda c: c["predictor"].update(patches=[[0, 5, 0, 0, 0]]), "a patch must be"),
        (lambda c: c["predictor"].update(patches={}), "the patches must be a list"),
    ],
)
def test_damaged_files_are_refused(damage, message, tmp_path):
    fitted = mv.multicalibrate(Y, SAID, groups=[], property="quantile_cvar:0.9", mode="theorem")
    fitted.save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    content.pop("checksum")
    damage(content)
    (tmp_path / "m.json").write_text(json.dumps({**content, "checksum": checksum(content)}))
    with pytest.raises(ModelFileError, match=message):
        mv.load(tmp_path / "m.json")


@pytest.mark.parametrize(
    "damage",
    [
        lambda p: p.update(first=3),
        lambda p: p.update(first_edges=[2, 1]),
        lambda p: p.update(second_edges=["a"]),
        lambda p: p.update(scale={"values": [1.0]}),
        lambda p: p["scale"].update(values=[]),
        lambda p: p["scale"].update(below=[True] * len(p["scale"]["below"])),
        lambda p: p["scale"].update(upto=p["scale"]["upto"][::-1]),
        lambda p: p.pop("rough"),
    ],
)
def test_damaged_practical_files_are_refused(damage, tmp_path):
    y, said, group = data(1500)
    fitted = mv.multicalibrate(y, said, groups=[group], property="quantile_cvar:0.9")
    content = fitted.to_json()
    content = json.loads(json.dumps(content))
    assert content["predictor"]["passes"][0]["scale"] is not None
    damage(content["predictor"]["passes"][0])
    with pytest.raises(ModelFileError):
        mv.JointCalibration.from_json(content)
    with pytest.raises(ModelFileError):
        mv.JointCalibration.from_json({**fitted.to_json(), "predictor": {**fitted.to_json()["predictor"], "square": 1}})


def test_certificate_json_round_trip():
    y, said, group = data(500)
    for mode in ("practical", "theorem"):
        one = mv.multicalibrate(y, said, groups=[group], property="mean_std", mode=mode, max_updates=3).certificate
        data_ = json.loads(json.dumps(one.to_json()))
        assert JointCertificate.from_json(data_).to_json() == one.to_json()
        assert str(one) == one.summary()
