import re

import compare


def test_the_runners_time_is_set_beside_the_cheapest_work(capsys):
    compare.main(["--cells", "4", "--jobs", "1", "--repeats", "1"])

    told = capsys.readouterr().out
    assert told.startswith("4 trivial cells, new workers: ")
    each, work, share = (
        float(re.search(pattern, told).group(1))
        for pattern in (r"cell: ([\d.]+) ms", r"work: ([\d.]+) ms", r"([\d.]+)%")
    )
    assert work > 0
    assert abs(share - 100 * each / work) < 0.5 + 10 / work
