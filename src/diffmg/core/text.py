"""Names from files, made fit to be shown."""


def printable(text: str) -> str:
    """Replace unprintable characters (line breaks, terminal codes) by spaces."""
    return "".join(c if c.isprintable() else " " for c in text)


def shortened(text: str, most: int) -> str:
    """Printable text of at most so many characters; an ellipsis stands for the rest."""
    plain = printable(text)
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"
