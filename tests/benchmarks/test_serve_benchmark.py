from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra [serve] is not installed")

from benchmarks.files import RESULTS, read_result
from benchmarks.serve import Seen, ServeOptions, measure_serve, summary
from diffmg.core.errors import DiffmgError

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"


def test_percentiles_and_errors_of_what_clients_saw() -> None:
    found = summary(Seen([0.001 * n for n in range(1, 102)], Counter({200: 99, 503: 2}), 1), seconds=2)
    assert (found["requests"], found["errors"], found["requests_per_second"]) == (101, 3, 50.5)
    assert (found["p50_ms"], found["p95_ms"], found["max_ms"]) == pytest.approx((51, 96, 101))


def test_options_are_checked() -> None:
    with pytest.raises(DiffmgError, match="`clients >= 1` must hold, but got clients=0"):
        ServeOptions(clients=0)


@pytest.mark.slow
def test_a_served_model_answers_clients() -> None:
    found = measure_serve(ServeOptions("shop:160", clients=4, seconds=0.5, epochs=1))
    assert found["errors"] == 0
    assert found["requests"] > 4
    assert found["statuses"] == {"200": found["requests"]}


def test_the_page_has_the_numbers_of_the_result_file() -> None:
    kept, text = read_result(RESULTS / "serve.json"), PAGE.read_text(encoding="utf-8")
    found = kept["results"]
    numbers = [f"{found['requests']:,}".replace(",", " "), *(f"{found[f'p{p}_ms']:.0f}" for p in (50, 95, 99))]
    (row,) = re.findall(r"^\| yelp, .*$", text, re.MULTILINE)
    assert [cell.strip() for cell in row.strip("|").split("|")][1:] == [numbers[0], str(found["errors"]), *numbers[1:]]
    assert kept["command"] in text
