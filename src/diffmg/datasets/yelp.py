"""Yelp: businesses for users."""

from typing import ClassVar

from diffmg.datasets._base import DATASETS
from diffmg.datasets._hin import EdgeFile, HinDataset


@DATASETS.add("yelp")
class Yelp(HinDataset):
    """Users rate businesses, befriend users and pay compliments; businesses have categories and a city."""

    summary = "recommend 14284 businesses to 16239 users; friends, compliments, categories, cities"
    folder = "Yelp"
    first_id = 1
    num_nodes: ClassVar = {"user": 16239, "business": 14284, "compliment": 11, "category": 511, "city": 47}
    user, item = "user", "business"
    ratings, seeds = "user_business.dat.gz", (1, 2)
    observed = ("UB", "BU")
    friends = "UU"
    files = (
        EdgeFile("user_compliment.dat.gz", "user", "compliment", "UCo", "CoU"),
        EdgeFile("business_category.dat.gz", "business", "category", "BCa", "CaB"),
        EdgeFile("business_city.dat.gz", "business", "city", "BC", "CB"),
    )
