"""Pictures of values in notebooks. `diffmg.viz` draws them; it is looked up when a picture is shown."""

from collections.abc import Callable
from typing import Any, ClassVar

from diffmg.core.registry import Registry

PICTURES: Registry[Callable[[Any], str]] = Registry("picture", "diffmg.viz.notebook", group="diffmg.pictures")
"""By name, what turns a value into a piece of HTML or SVG."""


class Pictured:
    """A value that a notebook shows as HTML."""

    _picture: ClassVar[str]
    """Its name among the pictures."""

    def _repr_html_(self) -> str:
        return PICTURES.get(f"{self._picture}.html")(self)


class Drawn(Pictured):
    """A value that a notebook may also show as an SVG picture."""

    def _repr_svg_(self) -> str:
        return PICTURES.get(f"{self._picture}.svg")(self)
