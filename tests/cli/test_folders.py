"""A folder of tables as a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from run_files import diffmg, read, refused

pytest.importorskip("duckdb", reason="the extra sql is not installed")
QUICK = ("--method", "gcn", "-s", "max_epochs=2", "-s", "dim=4")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Customers and their orders, in two files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    (tmp_path / "net").mkdir()
    customers = [f"c{i},{20 + i % 9},{'yes' if i % 2 else 'no'}" for i in range(40)]
    orders = [f"{i},c{i % 40},{i % 7}" for i in range(120)]
    (tmp_path / "shop" / "customers.csv").write_text("\n".join(["customer_id,age,churned", *customers]) + "\n")
    (tmp_path / "shop" / "orders.csv").write_text("\n".join(["order_id,customer_id,size", *orders]) + "\n")
    return tmp_path


def test_a_folder_is_described_with_the_keys_that_were_guessed(shop: Path) -> None:
    answer = diffmg("describe", "shop", "--target", "customers.churned", "--out", "net/shop.toml")
    assert answer.code == 0, answer.err
    assert "key orders.customer_id -> customers.customer_id: 100 % of 120 values, guessed" in answer.out
    assert 'database = "../shop"' in (shop / "net" / "shop.toml").read_text()
    assert "it names files outside of its folder" in answer.out
    assert "--allow-outside" in refused("fit", "net/shop.toml", *QUICK, "--out", "run")
    assert diffmg("--allow-outside", "fit", "net/shop.toml", *QUICK, "--out", "run").code == 0


def test_a_model_of_a_folder_is_used_again(shop: Path) -> None:
    answer = diffmg("fit", "shop", "--target", "customers.churned", *QUICK, "--out", "run")
    assert answer.code == 0, answer.err
    assert read(shop / "run")["plan"]["source"]["name"] == f"{shop.resolve()}/shop/"
    answer = diffmg("predict", "run", "--id", "c7")
    assert answer.code == 0, answer.err
    assert "c7" in answer.out


def test_a_folder_needs_a_target(shop: Path) -> None:
    assert "a database needs a target TABLE.COLUMN" in refused("fit", "shop/", "--out", "run")
