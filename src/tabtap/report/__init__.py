"""One self-contained page about a result."""

from tabtap.report.page import Plots, plot, report_html, verdict_box, write_report
from tabtap.report.verdict import verdict_of

__all__ = [
    "Plots",
    "plot",
    "report_html",
    "verdict_box",
    "verdict_of",
    "write_report",
]
