"""One coordinate under watch: its buckets, the rates of its bets, and the sums that a table shows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from multivalid.online.evidence import SINGLE, SLOPE, Evidence, tilts
from multivalid.online.watch_targets import Coordinate

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Bits = NDArray[np.bool_]


class Watch:
    """Bets on the V of one coordinate, for every group.

    Buckets are set once, by `set_edges`: rows before that are in no bucket and only take part in bets that are the same everywhere.
    Inside a bucket a bet does not depend on the prediction, so that being right on average over each bucket is enough to be safe.
    """

    def __init__(self, coordinate: Coordinate, groups: int, buckets: int, threshold: float, tolerance: float) -> None:
        self.coordinate, self.buckets, self.tolerance = coordinate, buckets, tolerance
        middle = np.clip(np.zeros(1), *coordinate.range)
        least, most = (bool(np.isfinite(side).all()) for side in coordinate.v_range(middle, middle))
        live = int(least) + int(most)  # bets on V being high need a bound below, bets on V being low one above
        self.bets = Evidence(groups, buckets, threshold, (least / live, most / live), tolerance)
        self.edges: Array | None = None
        self._limits: tuple[Array, Array] | None = None
        self._set_rates(np.array([coordinate.range.lo]), np.array([coordinate.range.hi]), slice(buckets, None))

    def set_edges(self, edges: Array) -> None:
        """The inner edges, increasing; a prediction equal to one belongs to the bucket above."""
        ends = self.coordinate.range
        self.edges = edges
        self._limits = self._set_rates(np.append(ends.lo, edges), np.append(edges, ends.hi), slice(0, self.buckets))

    def bucket(self, prediction: Array) -> Index:
        """The bucket of each prediction; the number of buckets where there are none yet."""
        if self.edges is None:
            return np.full(prediction.size, self.buckets, dtype=np.int64)
        return np.searchsorted(self.edges, prediction, side="right").astype(np.int64)

    def add(self, member: Bits, predictions: Array, value: Array, time: Array, first: int) -> None:
        """Rows in order, with V of each; round `first` is that of the first row."""
        prediction = self.coordinate.prediction(predictions)
        bucket = self.bucket(prediction)
        self.bets.add(member, bucket, value, self._scale(prediction, bucket), time, first)

    def says(self, bet: int) -> str:
        """What the bet with this number bets on."""
        family, side = divmod(bet, self.bets.bets)
        high = side < self.bets.bets // 2
        if family == SLOPE:
            return "predictions too extreme" if high else "predictions too moderate"
        says = f"predictions too {'high' if high else 'low'}"
        if family < SINGLE or self.edges is None:
            return says
        ends = self.coordinate.range
        low, high_end = np.append(ends.lo, self.edges)[family - SINGLE], np.append(self.edges, ends.hi)[family - SINGLE]
        if not np.isfinite(low):
            return f"{says} where they are below {high_end:.4g}"
        return f"{says} where they are {f'at least {low:.4g}' if not np.isfinite(high_end) else f'in [{low:.4g}, {high_end:.4g})'}"

    # ---- inside ----------------------------------------------------------------------------------------------------
    def _set_rates(self, low: Array, high: Array, where: slice) -> tuple[Array, Array]:
        with np.errstate(invalid="ignore"):  # infinity minus infinity: no bound
            least, most = self.coordinate.v_range(low, high)
            inner = self.coordinate.v_range(high, low)
        # A bucket without end, where V has a bound at each prediction but none for all: twice that at its inner edge. Bets of
        # predictions further out are made smaller, see `_scale`.
        least = np.where(np.isfinite(least), least, 2.0 * inner[0])
        most = np.where(np.isfinite(most), most, 2.0 * inner[1])
        half, slack = self.bets.bets // 2, self.tolerance
        rates = self.bets.rates[where]
        rates[:, :half] = self._side(-least, most, slack)
        rates[:, half:] = self._side(most, -least, slack)
        return -least, most

    def _side(self, loss: Array, gain: Array, slack: float) -> Array:
        """Rates of bets that lose at most `loss` and gain at most `gain` per unit; zero where a bound is missing."""
        known = np.isfinite(loss) & (loss > 0)
        safe = np.where(known, loss, 1.0)
        reach = np.where(np.isfinite(gain), gain, self.coordinate.usual(safe)) - slack
        possible = known & (reach > 0)
        return np.where(possible[:, None], tilts(-(safe + slack), np.where(possible, reach, 1.0)), 0.0)

    def _scale(self, prediction: Array, bucket: Index) -> Array:
        """One, and less for predictions so far out in a bucket without end that V may pass the bound its bets were made for."""
        if self._limits is None or not np.isinf(self.coordinate.range).any():
            return np.ones(prediction.size)
        least, most = self.coordinate.v_range(prediction, prediction)
        scale = np.ones(prediction.size)
        for row, limit in ((-least, self._limits[0][bucket]), (most, self._limits[1][bucket])):
            far = np.isfinite(row) & np.isfinite(limit) & (row > limit)
            scale[far] = np.minimum(scale[far], limit[far] / row[far])
        return scale
