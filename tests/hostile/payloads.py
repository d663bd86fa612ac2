"""What a stranger may write into a cell, a name or a path: one table for all tests."""

TEXTS = {
    # What steers a terminal.
    "colour": "\x1b[31mred",
    "window title": "\x1b]0;owned\x07",
    "clear screen": "\x1b[2J\x1b[H",
    "hyperlink": "\x1b]8;;http://example.org\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "device control": "\x1bP$q\x1b\\",
    "report cursor": "\x1b[6n",
    "colour of one byte": "\x9b31m",
    "next line": "a\x85b",
    "bell": "a\x07b",
    "backspace": "safe\x08\x08\x08\x08evil",
    "carriage return": "good\rbad",
    "vertical tab": "a\x0bb",
    "form feed": "a\x0cb",
    "shift out": "a\x0eb",
    "escape alone": "a\x1b",
    "delete": "a\x7fb",
    "unit separator": "a\x1fb",
    "line break": "a\nb",
    "tab": "a\tb",
    # What turns letters round, or hides them.
    "right to left": "\u202egpj.exe",
    "isolate": "\u2066a\u2069b",
    "zero width": "a\u200bb",
    "soft hyphen": "a\u00adb",
    "line separator": "a\u2028b",
    "paragraph separator": "a\u2029b",
    "byte order mark": "a\ufeffb",
    "tag letters": "a\U000e0041b",
    "no character": "a\uffffb",
    "private": "a\ue000b",
    "beyond 16 bits": "a\U0001f600b",
    "stacked marks": "a" + "\u0301" * 30,
    # What a page would run.
    "script": "<script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "drawing": "<svg/onload=alert(1)>",
    "end of style": "</style><script>alert(1)</script>",
    "end of script": "</script><script>alert(1)</script>",
    "end of a comment": "--><script>alert(1)</script>",
    "attribute": '" onmouseover="alert(1)" x="',
    "attribute, single": "' onfocus='alert(1)' autofocus='",
    "address": "javascript:alert(1)",
    "written out": "&lt;script&gt;alert(1)&lt;/script&gt;",
    "template": "{{ 7 * 7 }}{% for a in b %}",
    # What a spreadsheet would calculate.
    "formula": "=cmd|' /C calc'!A0",
    "formula, plus": "+1+cmd|' /C calc'!A0",
    "formula, minus": "-2+3+cmd|' /C calc'!A0",
    "formula, at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "formula behind a tab": "\t=1+1",
    # What code, shells and formats would read as something else.
    "markup of rich": "[red]x[/red][/]",
    "emoji of rich": ":skull:",
    "format": "{0!r}{name}%s%n%(x)d",
    "quotes": "'\"`",
    "backslashes": "a\\n\\x1b\\u202e\\",
    "shell": "$(id); rm -rf . #`id`",
    "path": "../../../etc/passwd",
    "toml": '"]\n[columns]\n"a" = "identifier"',
    "dotted": "a.b.c",
    "dunder": "__class__",
    "equal sign": "a=b=continuous",
    "long": "x" * 20_000,
    "long words": "lorem ipsum " * 2_000,
    "digits": "1" * 5_000,
    "digits and a letter": "1" * 100_000 + "x",
    "numbers": "1e400",
    "blank": " a ",
}
"""Everything here can stand in a cell of any text file."""

NUL = "a\x00b"
"""What JSON and Parquet alone can hold."""

ONE_LINE = {
    name: text
    for name, text in TEXTS.items()
    if not set(text) & set("\n/\x00") and len(text.encode()) < 200
}
"""What can be the name of a file."""
