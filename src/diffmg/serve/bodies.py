"""What requests and replies hold, as the OpenAPI description shows it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

Id = StrictInt | StrictStr
QueryIds = Annotated[list[str], Query(alias="id", min_length=1, description="An id; may be repeated.")]
QueryItems = Annotated[list[str] | None, Query(alias="item", description="Of pairs, the item for each id.")]
AllowedItems = Annotated[list[str] | None, Query(alias="item", description="Only these items; may be repeated.")]
Kind = Annotated[str, Query(alias="format", description="json, svg, text, dot or mermaid.")]
View = Annotated[Literal["meaning", "states"], Query(description="What is heard, or the DAG of states.")]


class Asked(BaseModel):
    """Ids to predict."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"ids": [0, 1]}]})
    ids: list[Id] = Field(min_length=1, description="Ids of the data the model was fitted on: text or whole numbers.")


class AskedItems(Asked):
    """Users to recommend items to."""

    k: StrictInt = Field(10, ge=1, description="Items for each user.")
    items: list[Id] | None = Field(None, description="Only these items.")
    exclude_seen: StrictBool = Field(True, description="Leave out what a user is known to have chosen.")
    why: StrictBool = Field(False, description="Add the meta path that adds most to each score.")


class AskedReasons(Asked):
    """Answers to explain."""

    items: list[Id] | None = Field(None, description="Of pairs, the item for each id.")
    sources: StrictInt = Field(5, ge=0, description="Source nodes of each path.")
    paths: StrictInt = Field(20, ge=1, description="Paths of each answer, the largest first.")


class Rows(BaseModel):
    """A row an answer, by column."""

    rows: list[dict[str, Any]]


class Explanations(BaseModel):
    """An explanation for each answer; of a pair, for each of its towers."""

    explanations: list[dict[str, Any]]


class Problem(BaseModel):
    """Why there is no answer."""

    error: str
