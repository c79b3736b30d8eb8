"""Draws the dashboard of a synthesized app: what the command line calls."""

from __future__ import annotations

from pathlib import Path

from shardlane_lab.dashboard.deployed import Dashboard, Deployed, read_deployed
from shardlane_lab.dashboard.metrics import RecordedMetrics
from shardlane_lab.dashboard.run_metrics import run_metrics
from shardlane_lab.dashboard.series import Metric
from shardlane_lab.local_lambda.template import read_assembly
from shardlane_lab.run_record import read_run


def metrics_of_run(assembly: Path, folder: Path, name: str | None = None) -> RecordedMetrics:
    """Those of a run on disk. Raises as ``read_run`` and ``wanted_metrics`` do."""
    mappings = {each.function: each.uuid for each in read_assembly(assembly).mappings}
    return run_metrics(read_run(folder), wanted_metrics(assembly, name), mappings)


def wanted_metrics(assembly: Path, name: str | None = None) -> list[Metric]:
    """Every metric that the dashboard, or an alarm that it shows, draws. Raises ``LabError``."""
    deployed = read_deployed(assembly)
    return _metrics(deployed, deployed.dashboard(name))


def _metrics(deployed: Deployed, dashboard: Dashboard) -> list[Metric]:
    widgets = dashboard.widgets
    arns = [arn for each in widgets for arn in getattr(each, "alarm_arns", ())]
    alarms = [deployed.alarms[arn] for arn in arns if arn in deployed.alarms]
    series = [each for widget in widgets for each in getattr(widget, "series", ())]
    series += [each for alarm in alarms for each in alarm.series]
    return [each.source for each in series if isinstance(each.source, Metric)]


def write_dashboard(
    assembly: Path,
    metrics: RecordedMetrics,
    out: Path,
    *,
    source: str,
    name: str | None = None,
    again_s: float | None = None,
) -> None:
    """Writes the page to ``out``; ``name`` chooses among several dashboards of the app.

    Raises ``LabError`` for an app without (such) a dashboard.
    """
    # Here, because it loads matplotlib: no other command should pay seconds for that.
    from shardlane_lab.dashboard.page import dashboard_page

    deployed = read_deployed(assembly)
    page = dashboard_page(
        deployed.dashboard(name), deployed.alarms, metrics, source=source, again_s=again_s
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page, encoding="utf-8")
