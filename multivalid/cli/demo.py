"""multivalid demo: the demonstration on real flights."""

from __future__ import annotations

from multivalid.cli.exits import usage


def demo() -> None:
    """Run the demonstration on real flights.

    Example: multivalid demo
    """
    try:
        from multivalid.demo import story
    except ImportError as error:
        raise usage(f"the demonstration needs the package {error.name}: pip install 'multivalid[demo]'.") from None
    story.main([])
