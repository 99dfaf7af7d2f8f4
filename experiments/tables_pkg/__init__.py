"""The paper's tables and figures again: which methods on which data, their runs, and tables beside the paper's."""

from diffmg.reproduction.carrying import carry_out, done_runs
from diffmg.reproduction.documents import filled, places
from diffmg.reproduction.figures import figures
from diffmg.reproduction.spec import Method, Reproduction, read_reproduction
from diffmg.reproduction.tables import FORMS, Sheet, sheets

__all__ = [
    "FORMS",
    "Method",
    "Reproduction",
    "Sheet",
    "carry_out",
    "done_runs",
    "figures",
    "filled",
    "places",
    "read_reproduction",
    "sheets",
]
