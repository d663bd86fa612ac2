import io
import warnings

from rich.console import Console

from tabtap.cli.screen import Screen
from tabtap.cli.warned import tell_rest, told_warnings
from tabtap.errors import EvaluatorFallbackWarning


def test_a_note_that_a_warning_has_told_is_not_told_again():
    stream = io.StringIO()
    screen = Screen(Console(file=stream, width=80))

    with told_warnings(screen) as told:
        warnings.warn("A lesser evaluator.", EvaluatorFallbackWarning, stacklevel=1)
    tell_rest(screen, ["A lesser evaluator.", "Two copies."], told)

    assert stream.getvalue() == "Note: A lesser evaluator.\nNote: Two copies.\n"
