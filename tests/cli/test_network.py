"""What ``docs/explanation/privacy.md`` says: nothing leaves the machine."""

import sys

WITHOUT_NETWORK = """
import runpy, socket, sys

tried = []

def refuse(*given, **named):
    tried.append(given)
    raise OSError("the network is cut off")

for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, refuse)
socket.getaddrinfo = socket.create_connection = refuse
code = runpy.run_path(sys.argv.pop(1))["main"]()
print("network asked for", len(tried), "times", tried[:1], file=sys.stderr)
sys.exit(code)
"""


def test_no_command_that_sees_a_table_asks_for_the_network(
    desk, quick_command, tabtap_run, helped
):
    (_, script), _ = quick_command
    told = [
        ["augment", "birds.csv", *helped, "-n", "8", "--save", "b.tap"],
        ["inspect", "birds.csv", "-t", "sex"],
        ["verify", "b.tap"],
        ["report", "b.tap"],
    ]
    joined = [word for command in told for word in (*command, "+")][:-1]
    code = desk / "without_network.py"
    code.write_text(WITHOUT_NETWORK, encoding="utf-8")

    answer = tabtap_run.func((sys.executable, str(code)), script, *joined, cwd=desk)

    assert answer.code == 0
    assert [line for line in answer.lines if line.startswith("===")] == ["=== 0"] * 4
    assert answer.lines[-2] == "network asked for 0 times []"
