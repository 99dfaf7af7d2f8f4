"""The report of a run as a server shows it: with a box to type an id and see the answer and its explanation."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from diffmg.serve.service import Service
from diffmg.viz import draw_all
from diffmg.viz.page import lead_of, sections_of, title_of
from diffmg.viz.report.document import POLICY, document
from diffmg.viz.report.html import Html, Section, paragraph, scrolled, text


@cache
def script() -> str:
    """The script of the box."""
    return files("diffmg.serve").joinpath("live.js").read_text(encoding="utf-8")


@cache
def style() -> str:
    """The style of the server's forms."""
    return files("diffmg.serve").joinpath("forms.css").read_text(encoding="utf-8")


@cache
def live_policy() -> str:
    """As of a report, but the box's own script may run, and may ask this server."""
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    return f"{POLICY}; script-src 'sha256-{digest}'; connect-src 'self'"


def model_page(service: Service) -> str:
    """The page of one model."""
    run = service.run
    if run is None:
        title, lead, sections = service.name, repr(service.model), _pictures(service)
    else:
        title, lead, sections = title_of(run), lead_of(run), sections_of(run, service.path)
    sections = [*sections[:1], live_box(service), *sections[1:]]
    return document(title, lead, sections, policy=live_policy(), extra=f"<style>{style()}</style>")


def live_box(service: Service) -> Section:
    """The form; its script finds what to ask for in the attributes."""
    base, kind = f"/models/{service.name}", service.types[0]
    hint = "".join(
        f', such as <button type="button" class="plain">{text(one)}</button>' for one in service.examples()[:1]
    )
    more = f'<label>how many <input name="k" type="number" min="1" max="{service.limits.k}" value="5"></label>'
    form = (
        f'<form id="ask-form" data-base="{base}" data-verb="{service.verb}" data-item="{text(service.types[-1])}">'
        f'<label>id of {text(kind)} <input name="id" required autocomplete="off" spellcheck="false"></label>'
        f"{more if service.verb == 'recommend' else ''}<button>Ask</button></form>"
    )
    note = "its answer, and where the answer comes from" if service.verb == "predict" else "what to show, and why"
    about = paragraph(Html(f"Type an id{hint}: {text(note)}."), kind="note")
    api = paragraph(Html('Programs ask the same: <a href="/docs">endpoints</a>.'), kind="note")
    body = (
        f'{about}{form}<p id="ask-status" role="status"></p><div id="ask-answer"></div>{api}<script>{script()}</script>'
    )
    return Section("ask", "Ask it", body, "Ask")


def _pictures(service: Service) -> list[Section]:
    """Of a model file, which has no run beside it, the picture alone."""
    shown = service.model.metagraphs
    body = f"{scrolled('the picture', 'picture wide')}{draw_all(shown, 'svg')}</div>" if shown else ""
    return [Section("reads", "What does it read?", body, "What it reads")] if body else []
