"""The search for slices: every pair of conditions at once from joint histograms, a beam to the third, one slice after the other.

A slice is ranked by (ΣV)² / max(ΣV², n·mean V²) − 2·ln(number of candidates of its length): about a squared z minus what the best of so
many candidates reaches by chance. The second denominator keeps out slices whose few rows all agree. After each slice V is re-centred
inside all slices found so far, so that the next one is not the shadow of the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from multivalid.discover.bins import Bins, Codes
from multivalid.discover.histogram import RowNumbers, histogram, pair_histograms
from multivalid.discover.literals import Literals, literals
from multivalid.properties.base import Array

LEAST_ROWS = 30
LEAST_SHARE = 0.005
BEAM = 12
SWEEPS = 3
PAIRS_AT_ONCE = 64
CHANCE = 4.0  # of a squared z: an end of an interval that adds less says nothing
Term = tuple[int, int]  # (column, condition of that column)
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Slice:
    """Conditions on different columns, what they rank, and the rows that meet all of them."""

    terms: tuple[Term, ...]
    score: float
    mask: Mask


@dataclass
class Search:
    """Rows as codes, and the part of V that nothing found so far explains.

    Attributes
    ----------
    codes : (rows, columns)
    values : Array
        w·V of every row.
    """

    bins: Sequence[Bins]
    codes: Codes
    values: Array
    depth: int = 3
    conditions: list[Literals] = field(init=False)
    found: list[Slice] = field(default_factory=list)

    def __post_init__(self) -> None:
        rows = self.values.size
        self.least = max(LEAST_ROWS, int(LEAST_SHARE * rows))
        columns = range(len(self.bins))
        self.everyone = np.arange(rows, dtype=np.int32)
        self.width = max(one.size for one in self.bins)
        self.columns = np.ascontiguousarray(self.codes.T)
        self.conditions = [literals(c, one, self.columns[c], self.least) for c, one in enumerate(self.bins)]
        self.sets = [one.sets.astype(np.float64) for one in self.conditions]
        sizes = np.array([len(one) for one in self.conditions], dtype=np.float64)
        pairs = (sizes.sum() ** 2 - (sizes**2).sum()) / 2
        self.tried = [sizes.sum(), pairs, pairs * sizes.sum() / 3]
        self.pairs = [(f, g) for f in columns for g in range(f) if sizes[f] and sizes[g]] if self.depth > 1 else []
        self.last_scores: dict[tuple[int, int], float] = {}
        self.residual = self.values.copy()

    def price(self, length: int) -> float:
        """What the best of all candidates of this length reaches by chance alone."""
        return 2 * float(np.log(max(self.tried[length - 1], 1.0)))

    def rank(self, total: Array, squares: Array, rows: Array) -> Array:
        """About the squared z of slices with these sums; −inf where they have too few rows."""
        spread = np.maximum(squares, np.maximum(rows, 1.0) * self.mean_square)
        return np.where(rows >= self.least, total * total / spread, -np.inf)

    def next(self) -> Slice | None:
        """The best slice of what is left; None when chance could have made it."""
        self.squares = self.residual**2
        self.mean_square = float(np.mean(self.squares))
        if self.mean_square == 0.0:
            return None
        starts = [*self._singles(), *self._pairs()]
        best = self._best(starts, None)
        if self.depth > 2:
            starts.sort(key=lambda one: -one[0])
            for _, terms in _different(starts)[:BEAM]:
                best = self._best(self._longer(terms), best)
        if best is None:
            return None
        terms = self._refine(best[1])
        mask = self.mask(terms)
        score = self._score_of(mask) - self.price(len(terms))
        return Slice(terms, score, mask) if score > 0 else None

    def run(self, most: int) -> list[Slice]:
        """Slices one after the other, the most telling first."""
        while len(self.found) < most:
            made = self.next()
            if made is None or any(made.terms == one.terms for one in self.found):
                break
            self.found.append(made)
            self._recentre()
        return self.found

    def mask(self, terms: Sequence[Term]) -> Mask:
        """The rows that meet all conditions."""
        out = np.ones(self.values.size, dtype=bool)
        for column, which in terms:
            out &= self.conditions[column].sets[which][self.columns[column]]
        return out

    # ---- candidates -----------------------------------------------------------------------------------------------
    def _best(
        self, candidates: Sequence[tuple[float, tuple[Term, ...]]], best: tuple[float, tuple[Term, ...]] | None
    ) -> tuple[float, tuple[Term, ...]] | None:
        for score, terms in candidates:
            net = score - self.price(len(terms))
            if net > 0 and (best is None or net > best[0]):
                best = net, terms
        return best

    def _singles(self) -> list[tuple[float, tuple[Term, ...]]]:
        return [(score, (term,)) for score, term in self._one_more(self.everyone, ())]

    def _one_more(self, rows: RowNumbers, taken: Sequence[int]) -> list[tuple[float, Term]]:
        """The best condition of each column not yet taken, among the given rows."""
        out = []
        sums = histogram(self.codes, self.width, rows, self.residual, self.squares)
        for c, sets in enumerate(self.sets):
            if c in taken or not len(sets):
                continue
            score = self.rank(*(sets @ sums[c, : self.bins[c].size]).T)
            which = int(np.argmax(score))
            out.append((float(score[which]), (c, which)))
        return out

    def _pairs(self) -> list[tuple[float, tuple[Term, ...]]]:
        """The best two conditions of each pair of columns that may hold the best of all.

        Once all pairs were looked at, what the slices taken out leave to most of them is less than before: only those whose last score was
        at least half of the best one now are looked at again.
        """
        out: list[tuple[float, tuple[Term, ...]]] = []
        order = sorted(self.pairs, key=lambda pair: -self.last_scores.get(pair, np.inf))
        best = -np.inf
        for start in range(0, len(order), PAIRS_AT_ONCE):
            batch = order[start : start + PAIRS_AT_ONCE]
            if self.last_scores.get(batch[0], np.inf) < best / 2:
                break
            made = self._best_of_pairs(batch)
            self.last_scores.update((pair, score) for pair, (score, _) in zip(batch, made, strict=True))
            best = max(best, *(score for score, _ in made))
            out += made
        return out

    def _best_of_pairs(self, pairs: Sequence[tuple[int, int]]) -> list[tuple[float, tuple[Term, ...]]]:
        """L·S·Lᵀ answers for all conditions of both columns at once."""
        out: list[tuple[float, tuple[Term, ...]]] = []
        tables = pair_histograms(self.columns, pairs, [one.size for one in self.bins], self.residual, self.squares)
        for (f, g), table in zip(pairs, tables, strict=True):
            score = self.rank(*(self.sets[f] @ table.transpose(2, 0, 1) @ self.sets[g].T))
            i, j = divmod(int(np.argmax(score)), score.shape[1])
            out.append((float(score[i, j]), ((f, i), (g, j))))
        return out

    def _longer(self, terms: tuple[Term, ...]) -> list[tuple[float, tuple[Term, ...]]]:
        if len(terms) >= self.depth:
            return []
        more = self._one_more(_numbers(self.mask(terms)), [column for column, _ in terms])
        return [(score, tuple(sorted([*terms, term], reverse=True))) for score, term in more]

    def _refine(self, terms: tuple[Term, ...]) -> tuple[Term, ...]:
        """Each condition in turn replaced by the best of its column, or left out where that costs less than it saves."""
        current = list(terms)
        for _ in range(2):
            for term in list(current):
                others = [one for one in current if one != term]
                mask = self.mask(others)
                score = self._score_of(mask) - self.price(max(len(others), 1)) if others else -np.inf
                again = max(
                    (one for one in self._one_more(_numbers(mask), [c for c, _ in others]) if one[1][0] == term[0]),
                    key=lambda one: one[0],
                )
                current = others if score >= again[0] - self.price(len(current)) else [*others, again[1]]
        return tuple(sorted((self._open_ended(term, [one for one in current if one != term]) for term in current), reverse=True))

    def _open_ended(self, term: Term, others: Sequence[Term]) -> Term:
        """An interval told by one of its ends, where the other adds nothing beyond chance: the widest wording that keeps the evidence."""
        column, which = term
        sets, last = self.conditions[column].sets, self.bins[column].size - 2
        if not self.bins[column].ordered or sets[which, 0] or sets[which, last] or sets[which, -1]:
            return term
        sums = histogram(self.codes, self.width, _numbers(self.mask(others)), self.residual, self.squares)[column]
        score = self.rank(*(self.sets[column] @ sums[: self.bins[column].size]).T)
        wider = (sets[:, 0] | sets[:, last]) & ~(sets[which] & ~sets).any(axis=1)
        best = int(np.argmax(np.where(wider, score, -np.inf)))
        return (column, best) if wider[best] and score[best] >= score[which] - CHANCE else term

    def _score_of(self, mask: Mask) -> float:
        inside = self.residual[mask]
        return float(self.rank(np.array(inside.sum()), np.array(inside @ inside), np.array(float(inside.size))))

    def _recentre(self) -> None:
        self.residual = recentre(self.residual, [one.mask for one in self.found])


def recentre(values: Array, masks: Sequence[Mask], sweeps: int = SWEEPS) -> Array:
    """What is left of the values when every mask is brought to mean zero, one after the other, a few times over."""
    out = values.copy()
    for _ in range(sweeps):
        for mask in masks:
            if mask.any():
                out[mask] -= out[mask].mean()
    return out


def _numbers(mask: Mask) -> RowNumbers:
    return np.flatnonzero(mask).astype(np.int32)


def _different(ranked: Sequence[tuple[float, tuple[Term, ...]]]) -> list[tuple[float, tuple[Term, ...]]]:
    """Without those that hold a condition of a better one twice over: the beam is to look in different places."""
    out: list[tuple[float, tuple[Term, ...]]] = []
    seen: dict[Term, int] = {}
    for score, terms in ranked:
        if np.isfinite(score) and all(seen.get(term, 0) < 4 for term in terms):
            out.append((score, terms))
            for term in terms:
                seen[term] = seen.get(term, 0) + 1
    return out
