"""Training: jobs that go epoch by epoch, the settings, and retraining of a meta graph."""

from diffmg.train.job import Epoch, Job, Quiet, Store, Watch, drive
from diffmg.train.many import train_many
from diffmg.train.problem import Problem
from diffmg.train.settings import TrainSettings
from diffmg.train.training import ModelTraining, Training

__all__ = [
    "Epoch",
    "Job",
    "ModelTraining",
    "Problem",
    "Quiet",
    "Store",
    "TrainSettings",
    "Training",
    "Watch",
    "drive",
    "train_many",
]
