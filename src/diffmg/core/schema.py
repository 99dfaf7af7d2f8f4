"""The node types and relations of a network."""

from dataclasses import dataclass

from diffmg.core.errors import DiffmgError, unknown
from diffmg.core.pictured import Drawn


@dataclass(frozen=True, order=True)
class Relation:
    """An edge type; messages go from `source` to `target`."""

    source: str
    name: str
    target: str

    def __post_init__(self) -> None:
        for part in (self.source, self.name, self.target):
            if not isinstance(part, str) or not part:
                raise DiffmgError(
                    "a relation is (source, name, target) of non-empty strings, "
                    f"but got ({self.source!r}, {self.name!r}, {self.target!r})"
                )

    def __str__(self) -> str:
        return f"{self.source} -{self.name}-> {self.target}"

    @property
    def triple(self) -> tuple[str, str, str]:
        """The relation as a PyG edge type."""
        return (self.source, self.name, self.target)


@dataclass(frozen=True)
class Schema(Drawn):
    """The node types and relations of a network, in a fixed order."""

    _picture = "schema"

    node_types: tuple[str, ...]
    relations: tuple[Relation, ...]

    def __post_init__(self) -> None:
        for kind, names in (("node type", self.node_types), ("relation", self.relations)):
            double = sorted({str(n) for n in names if names.count(n) > 1})
            if double:
                raise DiffmgError(f"every {kind} appears once in a schema, but got {double} twice")
        for relation in self.relations:
            for end in (relation.source, relation.target):
                if end not in self.node_types:
                    raise unknown(f"node type in relation '{relation}':", end, self.node_types)

    def check_type(self, node_type: str) -> str:
        """Return `node_type` if the schema has it, else raise."""
        if node_type not in self.node_types:
            raise unknown("node type", node_type, self.node_types)
        return node_type

    def check_relation(self, relation: Relation) -> Relation:
        """Return `relation` if the schema has it, else raise."""
        if relation not in self.relations:
            raise unknown("relation", relation, self.relations)
        return relation

    def relation(self, name: str) -> Relation:
        """The relation called `name`, which must be unique."""
        found = [r for r in self.relations if r.name == name]
        if not found:
            raise unknown("relation", name, (r.name for r in self.relations))
        if len(found) > 1:
            raise DiffmgError(
                f"a relation named alone must be unique, but got {name!r}, "
                f"which is any of {[str(r) for r in found]}; name it by its triple"
            )
        return found[0]

    def into(self, node_type: str) -> tuple[Relation, ...]:
        """Relations whose target is `node_type`."""
        return tuple(r for r in self.relations if r.target == node_type)
