"""Text from data (ids, names, values) as it may be shown: nothing in it controls a terminal or breaks a page."""

import unicodedata

KEPT = "\n\t"
HIDDEN = frozenset(
    "\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\ufffe\uffff"
)  # fmt: skip
"""Marks without a shape that reorder or break the text around them, and what is no character in XML."""


def clean(text: str) -> str:
    r"""The text with control characters written as escapes such as `\x1b`; line breaks and tabs are kept."""
    return text if text.isascii() and text.isprintable() else "".join(map(_seen, text))


def printable(value: object) -> str:
    r"""A name or an id on one line: line breaks and tabs are written as escapes too, `\n` and `\t`."""
    return clean(str(value)).replace("\n", "\\n").replace("\t", "\\t")


def shortened(text: str, most: int) -> str:
    """Printable text of at most so many characters; an ellipsis stands for the rest."""
    plain = printable(text)
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def _seen(letter: str) -> str:
    if letter in KEPT or not (letter in HIDDEN or unicodedata.category(letter) in ("Cc", "Cs")):
        return letter
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")
