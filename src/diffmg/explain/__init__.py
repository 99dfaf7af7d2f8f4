"""Where an answer comes from: a model's last state split by meta path and by source node."""

from diffmg.explain.answers import explanations
from diffmg.explain.importance import path_importances

__all__ = ["explanations", "path_importances"]
