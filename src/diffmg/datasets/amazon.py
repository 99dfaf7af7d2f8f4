"""Amazon: items for users."""

from typing import ClassVar

from diffmg.datasets._base import DATASETS
from diffmg.datasets._hin import EdgeFile, HinDataset


@DATASETS.add("amazon")
class Amazon(HinDataset):
    """Users rate items; items have a brand, categories and views."""

    summary = "recommend 2753 items to 6170 users; brands, categories, views"
    folder = "Amazon"
    first_id = 0
    num_nodes: ClassVar = {"user": 6170, "item": 2753, "brand": 334, "category": 22, "view": 3857}
    user, item = "user", "item"
    ratings, seeds = "user_item.dat.gz", (3, 4)
    observed = ("UI", "IU")
    files = (
        EdgeFile("item_brand.dat.gz", "item", "brand", "IB", "BI", ","),
        EdgeFile("item_category.dat.gz", "item", "category", "IC", "CI", ","),
        EdgeFile("item_view.dat.gz", "item", "view", "IV", "VI", ","),
    )
