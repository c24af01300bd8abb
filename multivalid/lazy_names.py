"""Names that are imported when they are first asked for, so that what does not need them costs next to nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import narwhals as narwhals


def lazy_names(
    package: str, space: dict[str, Any], homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package: `homes` says in which module a name lives.

    A module that is itself a name of the package has itself as its home.

    Examples
    --------
    >>> fetch, names = lazy_names("multivalid", {}, {"Grid": "multivalid.grid", "properties": "multivalid.properties"})
    >>> fetch("Grid").uniform(0.0, 1.0, 2).points.tolist(), fetch("properties").__name__, names()
    ([0.25, 0.75], 'multivalid.properties', ['Grid', 'properties'])
    """

    def fetch(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        module = import_module(homes[name])
        space[name] = module if homes[name] == f"{package}.{name}" else getattr(module, name)
        return space[name]

    return fetch, lambda: sorted({*homes, *(name for name in space if name.startswith("__"))})


class LazyModule(ModuleType):
    """A module that is imported when something of it is first asked for.

    Examples
    --------
    >>> LazyModule("fractions").Fraction(1, 3)
    Fraction(1, 3)
    """

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__name__), name)
        setattr(self, name, found)  # the next one who asks does not come here
        return found


if not TYPE_CHECKING:
    narwhals = LazyModule("narwhals")  # only frames need it: a model that is given rows as dicts never does
