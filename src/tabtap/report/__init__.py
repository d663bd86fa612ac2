"""One self-contained page about a result."""

from tabtap.report.page import report_html, write_report

__all__ = ["report_html", "write_report"]
