"""Small pages of the server: its models, and its endpoints in place of one that loads scripts from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from diffmg.core.run import shown
from diffmg.serve.service import Service
from diffmg.viz.report.document import document
from diffmg.viz.report.html import Html, Section, code, folded, paragraph, table, text
from diffmg.viz.report.words import count, metric_name

BACK = '<p class="note"><a href="/">all runs</a></p>'
API = paragraph(Html('For programs: <a href="/docs">endpoints</a>.'), kind="note")


def models_page(services: Sequence[Service]) -> str:
    """The models by name, each with a link to its report."""
    rows = [_row(service) for service in services]
    heads = ["model", "answers", "method", "nodes", "test score"]
    body = table(heads, rows, "Models of this server", left=3)
    return document("Models", f"{len(services)} models", [Section("models", "Which model?", body + API, "Models")])


def _row(service: Service) -> list[object]:
    run, link = service.run, Html(f'<a href="/models/{service.name}">{text(service.name)}</a>')
    score = run.scores("test").get(run.metric) if run else None
    said = "none" if run is None or score is None else f"{metric_name(run.metric)} {shown(score)}"
    known = service.about()["nodes"]
    nodes = ", ".join(f"{name} {count(number)}" for name, number in known.items())
    return [link, service.model.task.kind, service.method, nodes, said]


def endpoints_page(description: Mapping[str, Any]) -> str:
    """Every path of an OpenAPI description, with what it takes."""
    sections = [
        Section(f"e{number}", path, "".join(_about(m, one, description) for m, one in methods.items()), path)
        for number, (path, methods) in enumerate(description["paths"].items())
    ]
    lead = "Answers are JSON, but for pictures and pages; what is refused has a reason under `error`."
    extra = paragraph(Html('The same for programs: <a href="/openapi.json">openapi.json</a>.'), kind="note")
    return document("Endpoints", lead, sections, extra=extra)


def _about(method: str, about: Mapping[str, Any], description: Mapping[str, Any]) -> str:
    how = "with a JSON body" if "requestBody" in about else "with a query" if "parameters" in about else ""
    fields = [*_parameters(about), *_fields(about, description)]
    rows = [[code(name), "yes" if needed else "no", said] for name, needed, said in fields]
    takes = table(["takes", "needed", "what it is"], rows, left=3) if rows else ""
    replies = [[number, reply["description"]] for number, reply in about["responses"].items()]
    head = f"<h3>{text(f'{method.upper()} {how}'.strip())}</h3>" + paragraph(about.get("description", ""))
    return head + takes + folded("replies", table(["status", "reply"], replies, left=2))


def _parameters(about: Mapping[str, Any]) -> Iterator[tuple[str, bool, str]]:
    for one in about.get("parameters", ()):
        yield one["name"], one["required"], one.get("description", _default(one["schema"]))


def _fields(about: Mapping[str, Any], description: Mapping[str, Any]) -> Iterator[tuple[str, bool, str]]:
    """The fields of the JSON body."""
    content = about.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return
    schema = description["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
    for name, one in schema["properties"].items():
        yield name, name in schema.get("required", ()), one.get("description", _default(one))


def _default(schema: Mapping[str, Any]) -> str:
    return f"default {schema['default']}" if "default" in schema else ""
