"""The paper's tables and figures again: which methods on which data, their runs, and tables beside the paper's."""

from diffmg.reproduction.carrying import carry_out
from diffmg.reproduction.figures import figures
from diffmg.reproduction.spec import Method, Reproduction, read_reproduction
from diffmg.reproduction.tables import FORMS, Row, rows_of

__all__ = ["FORMS", "Method", "Reproduction", "Row", "carry_out", "figures", "read_reproduction", "rows_of"]
