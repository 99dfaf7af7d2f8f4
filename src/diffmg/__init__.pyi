"""What users import, as type checkers and editors see it; `__init__.py` imports each name on first use."""

from diffmg.core.errors import DiffmgError as DiffmgError
from diffmg.core.metagraph import MetaGraph as MetaGraph
from diffmg.core.method import METHODS as METHODS
from diffmg.core.method import Method as Method
from diffmg.core.plan import Plan as Plan
from diffmg.core.plan import Source as Source
from diffmg.core.run import Run as Run
from diffmg.core.run import read_run as read_run
from diffmg.core.schema import Relation as Relation
from diffmg.core.schema import Schema as Schema
from diffmg.core.settings import Settings as Settings
from diffmg.core.space import SearchSpace as SearchSpace
from diffmg.core.task import TASKS as TASKS
from diffmg.core.task import Task as Task
from diffmg.datasets import DATASETS as DATASETS
from diffmg.datasets import load_dataset as load_dataset
from diffmg.estimators import MetaGraphClassifier as MetaGraphClassifier
from diffmg.estimators import MetaGraphRecommender as MetaGraphRecommender
from diffmg.estimators import NodeRegressor as NodeRegressor
from diffmg.graph.network import HeteroGraph as HeteroGraph
from diffmg.methods.given import Given as Given
from diffmg.methods.search.diffmg import DiffMG as DiffMG
from diffmg.runs.model import Model as Model
from diffmg.runs.runner import run as run
from diffmg.runs.sources import make_plan as make_plan
from diffmg.runs.sources import open_problem as open_problem
from diffmg.tables import export_tables as export_tables
from diffmg.tables import read_problem as read_problem
from diffmg.tasks.answers import Answers as Answers
from diffmg.tasks.item_ranking import ItemRanking as ItemRanking
from diffmg.tasks.node_classification import NodeClassification as NodeClassification
from diffmg.tasks.problem import Problem as Problem
from diffmg.tasks.recommendation import Recommendation as Recommendation
from diffmg.tasks.regression import NodeRegression as NodeRegression

__version__: str
__all__: list[str]
