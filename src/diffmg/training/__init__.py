"""Training: jobs that go epoch by epoch, the settings, and retraining of a meta graph."""

from diffmg.training.job import Epoch, Job, Quiet, Store, Watch, drive
from diffmg.training.parallel import train_parallel
from diffmg.training.training import ModelTraining, Training

__all__ = [
    "Epoch", "Job", "ModelTraining", "Quiet", "Store", "Training", "Watch", "drive", "train_parallel",
]  # fmt: skip
