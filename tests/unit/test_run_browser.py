"""The browser of runs: what it reads of their folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from windtunnel import UserError, api


def test_a_report_that_is_a_link_is_not_shown(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "first"
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    secret = tmp_path / "secret.html"
    secret.write_text("secret")
    (run / "report.html").symlink_to(secret)
    browser = api.RunBrowser(tmp_path / "runs")
    with pytest.raises(UserError, match="has no report"):
        browser.report("first")
    (run / "report.html").unlink()
    (run / "report.html").write_text("report")
    assert browser.report("first") == b"report"
