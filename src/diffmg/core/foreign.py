"""Text from data (ids, names, values) as it may be shown: nothing in it controls the terminal."""

import unicodedata

KEPT = "\n\t"
HIDDEN = frozenset("\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
"""Marks without a shape that reorder or break the text around them."""


def clean(text: str) -> str:
    r"""The text with control characters written as escapes such as `\\x1b`; line breaks and tabs are kept."""
    return text if text.isascii() and text.isprintable() else "".join(map(_seen, text))


def on_one_line(text: str) -> str:
    """The cleaned text with line breaks and tabs written as escapes too."""
    return clean(text).replace("\n", "\\n").replace("\t", "\\t")


def _seen(letter: str) -> str:
    if letter in KEPT or not (letter in HIDDEN or unicodedata.category(letter) in ("Cc", "Cs")):
        return letter
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")
