"""The limits of what is read and made. Beyond them input is refused with the limit and the value."""

MOST_STATES = 64
"""K, the states of a meta graph."""
MOST_TIMES = 1_000_000
"""How often something may be done or made: trainings, epochs, searches, layers, columns."""
MOST_NODES = 100_000_000
"""Nodes of a made data set."""
ID_LENGTH = 1000
"""Characters of an id."""
ID_BYTES = 8 * 2**30
"""Memory of the ids of a type: four bytes for each character of the longest, in every row."""
UNPACKED_BYTES = 8 * 2**30
"""Bytes of a compressed file after decompression."""
UNPACKED_RATIO = 200
"""Times that a compressed file may grow, where it becomes larger than `SMALL_BYTES`; text rarely shrinks as much."""
SMALL_BYTES = 256 * 2**20
CELLS = 2**32
"""Rows times columns of a table."""
TEXT_BYTES = 256 * 2**20
"""Bytes of a JSON or TOML file, or of a history."""
DEPTH = 100
"""Lists and tables within each other, in JSON and TOML."""
DIGITS = 300
"""Digits of a whole number in JSON and TOML: as many as a float can hold."""
