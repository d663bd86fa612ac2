from io import StringIO

from tabtap.cli.terminal import Screen, clipped, console_on, fold, plain


def said(*, quiet=False):
    stream = StringIO()
    return Screen(console_on(stream), quiet), stream


def test_long_text_is_wrapped_and_lists_hang():
    text = fold("several words in a row\n  - one that is rather long", 16)

    assert text.split("\n") == [
        "several words in",
        "a row",
        "  - one that is",
        "    rather long",
    ]


def test_lines_that_point_at_a_place_stay_as_they_are():
    pointed = "Rule is wrong\n    a very long rule\n    ^^^^^"

    assert fold(pointed, 8).endswith("\n    a very long rule\n    ^^^^^")


def test_names_of_a_file_cannot_steer_the_terminal():
    screen, stream = said()

    screen.say("column \x1b[31mred\x07 [bold]x[/bold] :smile:")

    assert stream.getvalue() == "column ?[31mred? [bold]x[/bold] :smile:\n"
    assert plain("naïve 東京") == "naïve 東京"


def test_quiet_leaves_nothing_but_errors():
    screen, stream = said(quiet=True)

    screen.say("words")
    screen.note("more words")
    screen.error("a mistake")

    assert stream.getvalue() == "Error: a mistake\n"


def test_a_name_is_clipped_to_one_line():
    assert clipped("a\nb   c", 10) == "a b c"
    assert clipped("abcdefgh", 6) == "abc..."


def test_a_stream_that_is_no_terminal_gets_no_colour_and_no_live_lines():
    screen, stream = said()

    screen.say("words", "bold red")

    assert not screen.is_lively
    assert stream.getvalue() == "words\n"
