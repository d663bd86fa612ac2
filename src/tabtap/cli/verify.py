"""``tabtap verify``: whether a saved result is what its certificates say."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tabtap.cli import options as opt
from tabtap.cli.exits import NO, YES
from tabtap.cli.screen import Screen, console_on

if TYPE_CHECKING:
    from tabtap.domain import Certificate
    from tabtap.result import AugmentResult, Finding

EPILOG = """Examples:
$ tabtap verify train.tap

Nothing is signed: who changes rows, hashes and scores together is not found out.

Exit codes: 0 everything is as certified, 3 something is not, 2 bad input."""

_STYLES = {"ok": "green", "unknown": "yellow", "WRONG": "bold red"}


def verify(
    result: opt.ResultFile,
    *,
    debug: opt.PlainDebug = False,  # noqa: ARG001  read by main
) -> int:
    """Check that RESULT is what its certificates say.

    Hashes, bounds and decisions are computed anew. Hashes show that rows are those
    that were checked, scores that bounds and decisions follow from them. What was
    forgotten since can no longer be checked.
    """
    from tabtap.result import load_result
    from tabtap.result import verify as findings_of

    loaded = load_result(result)
    findings = findings_of(loaded)
    _show(Screen(console_on(sys.stdout)), loaded, findings)
    return NO if any(finding.kind == "wrong" for finding in findings) else YES


def _show(screen: Screen, result: AugmentResult, findings: Sequence[Finding]) -> None:
    whole = f"{len(result.real)} real rows, {len(result.delivered)} synthetic ones"
    _line(screen, whole, [f for f in findings if f.window is None])
    for certificate in result.certificates:
        mine = [f for f in findings if f.window == certificate.window]
        _line(screen, _window(certificate), mine)
    n_wrong = sum(finding.kind == "wrong" for finding in findings)
    if n_wrong:
        screen.say(f"\n{n_wrong} found that are not as certified.", "bold red")
    elif findings:
        screen.say("\nNothing is wrong; some of it can no longer be checked.")
    else:
        screen.say("\nEverything is as certified.", "bold green")


def _window(certificate: Certificate) -> str:
    decided = "let in" if certificate.committed else "refused"
    return f"window {certificate.window + 1}: {certificate.n_rows} rows {decided}"


def _line(screen: Screen, what: str, findings: Sequence[Finding]) -> None:
    word = "ok"
    if findings:
        wrong = any(finding.kind == "wrong" for finding in findings)
        word = "WRONG" if wrong else "unknown"
    screen.say(f"{word:<8}{what}", _STYLES[word])
    for finding in findings:
        screen.say(f"        {finding.text}")
