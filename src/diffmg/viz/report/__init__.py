"""The parts of the report page, one module each. Does not import torch."""
