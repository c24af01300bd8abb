"""Whom does a model treat badly? An audit of generated loan decisions, for the mean and for a quantile."""

import numpy as np
import pandas as pd

import multivalid as mv


def loans(rows: int = 20_000, seed: int = 7) -> pd.DataFrame:
    """Defaults that depend on age and region together; the model knows the age alone."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, rows)
    region = rng.choice(["north", "south", "east"], rows, p=[0.5, 0.3, 0.2])
    logit = -1.5 + 0.02 * (45 - age) + 0.9 * ((region == "south") & (age < 40)) - 0.4 * (region == "east")
    risk = 1 / (1 + np.exp(-logit))
    model = 1 / (1 + np.exp(-(-1.5 + 0.02 * (45 - age))))
    amount = rng.lognormal(1.0 + 0.4 * (region == "south"), 0.5)
    return pd.DataFrame(
        {
            "age": age,
            "region": region,
            "default": (rng.random(rows) < risk).astype(float),
            "model": np.round(model, 2),
            "amount": amount,
            "amount_q90": np.full(rows, np.exp(1.0 + 0.5 * 1.2815515655446004)),
        }
    )


def main() -> None:
    data = loans()
    groups = ["region", mv.bins("age", 4), "region == 'south' and age < 40"]
    print("Is the predicted default rate right for everyone?\n")
    print(mv.audit("default", "model", data=data, groups=groups).summary(6))
    print("\n\nDoes one 90 % quantile of the amount fit every region?\n")
    print(mv.audit("amount", "amount_q90", data=data, groups=groups, property="quantile:0.9").summary(6))


if __name__ == "__main__":
    main()
