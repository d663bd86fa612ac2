"""One self-contained page about a result.

Reads from: its own modules.  Read by: cli, users.
"""

from tabtap.report.page import report_html, write_report

__all__ = ["report_html", "write_report"]
