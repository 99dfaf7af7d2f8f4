"""The colours of pictures, for light and dark, as CSS variables: colour-blind safe, with enough contrast."""

from __future__ import annotations

LIGHT = {"bg": "#ffffff", "ink": "#1d2430", "mute": "#5a6372", "line": "#c9ced6", "faint": "#767e8b"}
DARK = {"bg": "#14171c", "ink": "#e8eaee", "mute": "#a3adbb", "line": "#3a424e", "faint": "#858f9d"}
TYPES_LIGHT = ("#0072b2", "#b84e00", "#00795a", "#a8457f", "#7d5a00", "#4a5fc1", "#882255", "#5c6b00")
"""Of node types, in order: Okabe and Ito's hues, darkened until a line of them can be seen on white."""
TYPES_DARK = ("#56b4e9", "#ff9e57", "#2fcb9b", "#e79bc4", "#f0c03a", "#a3b1ff", "#e58fae", "#c5cf5a")
FILL = 0.13
"""Opacity of a box's colour behind its text."""
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
CLASS = "diffmg"


def css() -> str:
    """Variables for both modes. A page overrules the system's choice by `data-theme` or a class around it, or by radio
    buttons called `theme-light` and `theme-dark`.
    """
    light, dark = _variables(LIGHT, TYPES_LIGHT), _variables(DARK, TYPES_DARK)
    svg = f"svg.{CLASS}"
    chosen = (":is(.{0}, [data-theme={0}], :root:has(#theme-{0}:checked))").format
    return "\n".join(
        [
            f"{svg} {{ {light} }}",
            f"@media (prefers-color-scheme: dark) {{ {svg} {{ {dark} }} }}",
            f"{chosen('light')} {svg} {{ {light} }}",
            f"{chosen('dark')} {svg} {{ {dark} }}",
            f"@media print {{ {svg}, {chosen('dark')} {svg} {{ {light} }} }}",
            f"{svg} {{ font-family: {FONT}; background: var(--dm-bg); }}",
            f"{svg} text {{ fill: var(--dm-ink); }} {svg} .back {{ fill: var(--dm-bg); }}",
            f"{svg} .mute {{ fill: var(--dm-mute); }} {svg} .wire {{ fill: none; stroke-linecap: round; }}",
            f"{svg} .box {{ fill-opacity: {FILL}; stroke-width: 1.6; }} {svg} .name {{ font-weight: 600; }}",
            f"{svg} g:focus-visible {{ outline: 2px solid var(--dm-ink); outline-offset: 2px; }}",
            f"{svg} g:focus:not(:focus-visible) {{ outline: none; }}",
            f"{svg} g[tabindex]:is(:hover, :focus) text {{ text-decoration: underline; }}",
        ]
    )


def type_colours(node_types: tuple[str, ...]) -> dict[str, str]:
    """A CSS colour for each node type; after eight they begin anew."""
    return {name: f"var(--dm-t{number % len(TYPES_LIGHT)})" for number, name in enumerate(node_types)}


def plain_colours(node_types: tuple[str, ...]) -> dict[str, str]:
    """The same for formats without light and dark."""
    return {name: TYPES_LIGHT[number % len(TYPES_LIGHT)] for number, name in enumerate(node_types)}


def _variables(shades: dict[str, str], types: tuple[str, ...]) -> str:
    named = [*shades.items(), *((f"t{number}", colour) for number, colour in enumerate(types))]
    return " ".join(f"--dm-{name}: {value};" for name, value in named)
