"""The settings of the sharp learner, checked: everything that does not change from round to round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from multivalid import validate
from multivalid.errors import InputError, ModelFileError
from multivalid.online import checks
from multivalid.online.members import Members, from_json
from multivalid.online.sharp.span import span_of
from multivalid.properties.base import Property
from multivalid.properties.parse import spec_of
from multivalid.properties.quantiles import Quantiles

BUCKETS = 20
RATES, SPARE_RATES = 16, 8  # a range that is learnt may double often: V of a mean then needs slower rates
SHARES = ("split", "drawn")


@dataclass(frozen=True)
class SharpSetup:
    """Checked settings; equal setups describe interchangeable learners."""

    prop: Any  # a Property, or Quantiles: one property per level
    members: Members
    labels: tuple[float, float] | None
    buckets: int
    shares: str
    copies: int
    batch: int
    delta: float

    algorithm = "sharp"

    @property
    def properties(self) -> tuple[Property, ...]:
        """What is predicted, one property per column."""
        return self.prop.properties if isinstance(self.prop, Quantiles) else (self.prop,)

    @property
    def rates(self) -> int:
        """Rates of bets per cell and sign."""
        return RATES if self.labels is not None else RATES + SPARE_RATES

    @property
    def open_at_once(self) -> int:
        """How many outcomes may be open while the promise holds."""
        return self.copies * self.batch

    def to_json(self) -> dict[str, Any]:
        """Plain data for a saved learner; the property needs a name."""
        spec = spec_of(self.prop)
        if spec is None:
            raise InputError(f"{self.prop!r} was built from a function and has no name; give it one with register(name, property).")
        return {
            "algorithm": self.algorithm,
            "property": spec,
            "groups": self.members.to_json(),
            "labels": None if self.labels is None else list(self.labels),
            "m": self.buckets,
            "shares": self.shares,
            "copies": self.copies,
            "batch": self.batch,
            "delta": self.delta,
        }


def make_sharp_setup(
    prop: Property | Quantiles,
    members: Members,
    *,
    labels: tuple[float, float] | None = None,
    m: int | None = None,
    shares: str = "split",
    copies: int = 1,
    batch: int = 1,
    delta: float = 0.05,
) -> SharpSetup:
    """Check every setting."""
    if labels is not None:
        labels = checks.interval(labels)
        prop.check_labels(checks.ends(labels), "labels")
        for one in prop.properties if isinstance(prop, Quantiles) else (prop,):
            span_of(one, labels)
    if shares not in SHARES:
        raise InputError(f"shares must be 'split' (a row at an edge counts in both buckets) or 'drawn' (in one), got {shares!r}.")
    buckets = BUCKETS if m is None else validate.count(m, "m", 2)
    copies, batch = validate.count(copies, "copies"), validate.count(batch, "batch")
    return SharpSetup(prop, members, labels, buckets, shares, copies, batch, validate.fraction(delta, "delta"))


def sharp_setup_from_json(data: dict[str, Any], prop: Property | Quantiles) -> SharpSetup:
    """The setup that `to_json` described."""
    try:
        return make_sharp_setup(
            prop, from_json(data["groups"]), labels=None if data["labels"] is None else tuple(data["labels"]), m=data["m"],
            shares=data["shares"], copies=data["copies"], batch=data["batch"], delta=data["delta"],
        )  # fmt: skip
    except (KeyError, TypeError, IndexError) as error:
        raise ModelFileError(f"the settings of the saved learner are damaged: {error!r}.") from None
