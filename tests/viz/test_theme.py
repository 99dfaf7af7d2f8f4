"""Contrast, by the formula of WCAG 2."""

from __future__ import annotations

from itertools import combinations

import pytest

from diffmg.viz.theme import DARK, FILL, LIGHT, TYPES_DARK, TYPES_LIGHT, css, plain_colours, type_colours

Rgb = tuple[float, float, float]


def rgb(colour: str) -> Rgb:
    return int(colour[1:3], 16) / 255, int(colour[3:5], 16) / 255, int(colour[5:7], 16) / 255


def luminance(colour: Rgb) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Rgb, other: Rgb) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def mixed(colour: Rgb, behind: Rgb, part: float) -> Rgb:
    r, g, b = (part * c + (1 - part) * d for c, d in zip(colour, behind, strict=True))
    return r, g, b


@pytest.mark.parametrize(("shades", "types"), [(LIGHT, TYPES_LIGHT), (DARK, TYPES_DARK)])
def test_text_and_lines_can_be_read(shades: dict[str, str], types: tuple[str, ...]) -> None:
    back = rgb(shades["bg"])
    for ink in ("ink", "mute"):
        assert contrast(rgb(shades[ink]), back) >= 4.5
        for colour in types:
            assert contrast(rgb(shades[ink]), mixed(rgb(colour), back, FILL)) >= 4.5
    assert contrast(rgb(shades["faint"]), back) >= 3
    assert all(contrast(rgb(colour), back) >= 3 for colour in types)
    assert len({rgb(colour) for colour in types}) == len(types) == 8


@pytest.mark.parametrize("types", [TYPES_LIGHT, TYPES_DARK])
def test_the_first_colours_differ_for_the_red_blind_too(types: tuple[str, ...]) -> None:
    """Protanopia by Viénot, Brettel and Mollon's matrix, on linear colours."""

    def seen(colour: str) -> Rgb:
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb(colour))
        return 0.11238 * r + 0.88762 * g, 0.11238 * r + 0.88762 * g, 0.00401 * r - 0.00401 * g + b

    for one, other in combinations(map(seen, types[:4]), 2):
        assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 0.05


def test_both_modes_can_be_chosen_and_colours_go_by_order() -> None:
    rules = css()
    for sign in ("prefers-color-scheme: dark", "[data-theme=dark]", ".light", "@media print"):
        assert sign in rules
    names = tuple(f"t{n}" for n in range(9))
    assert type_colours(names)["t8"] == type_colours(names)["t0"] == "var(--dm-t0)"
    assert plain_colours(names)["t1"] == TYPES_LIGHT[1]
