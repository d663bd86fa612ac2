"""Eight messy tables of different trades, as people hand them over.

Written before its author looked at how the readers decide.  Each is made from a seed,
so that no file has to be kept.
"""

import datetime
from collections.abc import Callable
from pathlib import Path

import numpy as np

Rows = list[list[str]]


def _write(
    path: Path, rows: Rows, separator: str = ",", encoding: str = "utf-8"
) -> Path:
    def quoted(cell: str) -> str:
        needs = separator in cell or '"' in cell or "\n" in cell
        return '"' + cell.replace('"', '""') + '"' if needs else cell

    text = "\n".join(separator.join(quoted(cell) for cell in row) for row in rows)
    path.write_bytes((text + "\n").encode(encoding))
    return path


def _german(value: float, places: int) -> str:
    return f"{value:,.{places}f}".translate(str.maketrans(",.", ".,"))


def _day(start: datetime.date, offset: int) -> datetime.date:
    return start + datetime.timedelta(days=int(offset))


def clinic(folder: Path, seed: int = 0) -> Path:
    """A German clinic: semicolons, decimal commas, blood pressure, BMI, latin-1."""
    rng = np.random.default_rng(seed)
    rows: Rows = [
        ["Patient", "Geschlecht", "Geburtsdatum", "Aufnahme", "Größe (m)", "Gewicht",
         "BMI", "Blutdruck", "Thrombozyten", "Kreatinin", "Raucher", "Befund"]
    ]  # fmt: skip
    for number in range(90):
        height = round(float(rng.normal(1.72, 0.09)), 2)
        weight = round(float(rng.normal(78, 13)), 1)
        born = _day(datetime.date(1940, 1, 1), rng.integers(0, 20000))
        came = _day(datetime.date(2023, 1, 1), rng.integers(0, 500))
        systolic = int(rng.normal(128, 16))
        ill = systolic + weight / 2 + rng.normal(0, 8) > 168
        creatinine = round(float(rng.lognormal(0, 0.3)), 2)
        rows.append([
            f"P{number // 2 + 1:03d}",
            str(rng.choice(["m", "w", "M", "W ", "m "])),
            born.strftime("%d.%m.%Y"),
            came.strftime("%d.%m.%Y"),
            _german(height, 2),
            _german(weight, 1) + " kg",
            _german(weight / height**2, 1),
            f"{systolic}/{int(systolic * 0.63)}",
            _german(rng.normal(250_000, 60_000), 0),
            "k.A." if rng.random() < 0.06 else _german(creatinine, 2),
            str(rng.choice(["ja", "nein", "Ja", "NEIN"])),
            "krank" if ill else "gesund",
        ])  # fmt: skip
    return _write(folder / "klinik.csv", rows, ";", "latin-1")


def shop(folder: Path, seed: int = 0) -> Path:
    """Orders of a shop: dollars with thousands, percent, a total, American dates."""
    rng = np.random.default_rng(seed)
    rows: Rows = [
        ["order_id", "date", "category", "price", "quantity", "discount", "total",
         "rating", "comment", "returned"]
    ]  # fmt: skip
    comments = ["great", "ok", "", "too small for me", "came late, box was broken"]
    for number in range(120):
        price = round(float(rng.lognormal(4.5, 1.2)), 2)
        quantity = int(rng.integers(1, 6))
        discount = int(rng.choice([0, 5, 10, 20]))
        total = price * quantity
        stars = int(rng.integers(1, 6))
        back = rng.random() < 0.75 - 0.14 * stars
        rows.append([
            str(100_000 + number * 7),
            _day(datetime.date(2024, 1, 3), rng.integers(0, 200)).strftime("%m/%d/%Y"),
            str(rng.choice(["Shoes", "shoes", "Shirts", "SHIRTS", "Hats "])),
            f"${price:,.2f}",
            str(quantity),
            f"{discount}%",
            f"${total:,.2f}",
            "N/A" if rng.random() < 0.05 else f"{stars}/5",
            f"{rng.choice(comments)} {number if number % 3 else ''}".strip(),
            "" if rng.random() < 0.05 else ("yes" if back else "no"),
        ])  # fmt: skip
    return _write(folder / "orders.csv", rows)


def lab(folder: Path, seed: int = 0) -> Path:
    """A laboratory: units in cells, values below the limit, doses, a ratio."""
    rng = np.random.default_rng(seed)
    rows: Rows = [
        ["sample", "drawn", "dose_mg", "CRP", "troponin", "LDL", "HDL", "LDL_HDL",
         "temp", "volume", "dilution", "outcome"]
    ]  # fmt: skip
    for number in range(80):
        crp = float(rng.lognormal(1.2, 1.0))
        troponin = float(rng.lognormal(-3.8, 1.0))
        ldl, hdl = int(rng.normal(120, 25)), int(rng.normal(52, 9))
        dose = float(rng.choice([0.5, 1, 2.5, 5]))
        bad = np.log(troponin) + 0.4 * np.log(crp) + rng.normal(0, 0.5) > -3.2
        rows.append([
            f"S-{number:04d}",
            _day(datetime.date(2025, 2, 1), number // 3).isoformat(),
            f"{dose:g}",
            f"{crp:.1f} mg/L",
            "<0.01" if troponin < 0.01 else f"{troponin:.2f}",
            f"{ldl} mg/dL",
            f"{hdl} mg/dL",
            f"{ldl / hdl:.2f}",
            f"{rng.normal(37.1, 0.6):.1f} °C",
            f"{rng.choice([2, 5, 10])} ml",
            str(rng.choice(["1:10", "1:100"])),
            "positive" if bad else "negative",
        ])  # fmt: skip
    return _write(folder / "lab.tsv", rows, "\t")


def sensors(folder: Path, seed: int = 0) -> Path:
    """A sensor log: time stamps, -999 for no reading, a difference, a constant."""
    rng = np.random.default_rng(seed)
    rows: Rows = [
        ["# exported by logger v2"],
        ["timestamp", "device", "firmware", "t_in", "t_out", "t_diff", "humidity",
         "pressure", "status", "vibration"]
    ]  # fmt: skip
    start = datetime.datetime(2025, 5, 1, 8, 0)
    for number in range(110):
        inside, outside = (round(float(rng.normal(m, 4)), 2) for m in (22, 14))
        status = str(rng.choice(["OK", "ok", "FAULT"], p=[0.6, 0.2, 0.2]))
        vibration = 0.4 + 0.05 * inside + (1.5 if status == "FAULT" else 0)
        humidity = -999 if rng.random() < 0.07 else int(rng.integers(30, 90))
        rows.append([
            (start + datetime.timedelta(minutes=15 * number)).isoformat(sep=" "),
            f"dev-{number % 4}",
            "1.0.3",
            f"{inside:.2f}",
            f"{outside:.2f}",
            f"{inside - outside:.2f}",
            str(humidity),
            f"{rng.normal(1013, 6):.1f} hPa",
            status,
            f"{vibration + rng.normal(0, 0.15):.3f}",
        ])  # fmt: skip
    return _write(folder / "sensors.csv", rows)


def survey(folder: Path, seed: int = 0) -> Path:
    """A survey: 99 and -1 for no answer, Likert words, income bands, a sum score."""
    rng = np.random.default_rng(seed)
    words = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]
    rows: Rows = [
        ["ID", "Age", "Sex", "Q1", "Q2", "Q3", "Score", "Agreement", "Income",
         "Children", "Would recommend?"]
    ]  # fmt: skip
    for number in range(100):
        answers = rng.integers(1, 6, size=3)
        age = 999 if rng.random() < 0.06 else int(rng.integers(18, 80))
        level = int(np.clip(answers.mean() + rng.normal(0, 0.8), 1, 5)) - 1
        happy = answers.sum() + rng.normal(0, 1.5) > 9
        rows.append([
            str(number + 1),
            str(age),
            str(rng.choice(["male", "Male", "MALE ", "female", "Female"])),
            *(str(answer) for answer in answers),
            str(answers.sum()),
            words[level].title() if rng.random() < 0.2 else words[level],
            str(rng.choice(["<20k", "20k-50k", "50k+", "prefer not to say"])),
            "-1" if rng.random() < 0.08 else str(rng.poisson(1.3)),
            "Yes" if happy else "No",
        ])  # fmt: skip
    return _write(folder / "survey.csv", rows)


def sports(folder: Path, seed: int = 0) -> Path:
    """Runners: times as mm:ss, British dates, heights in feet, pace as target."""
    rng = np.random.default_rng(seed)
    rows: Rows = [
        ["Runner", "Club", "Race date", "Distance", "Finish", "Height", "Weight (lbs)",
         "Resting HR", "Shoe EU", "VO2max"]
    ]  # fmt: skip
    for number in range(60):
        seconds = int(rng.normal(1500, 200))
        pulse = int(rng.normal(58, 7))
        rows.append([
            f"Runner {number % 20}",
            str(rng.choice(["Harriers", "harriers", "AC Milton", "AC  Milton"])),
            _day(datetime.date(2024, 3, 2), 7 * (number % 12)).strftime("%d/%m/%Y"),
            "5 km",
            f"{seconds // 60}:{seconds % 60:02d}",
            f"{int(rng.integers(5, 7))}'{int(rng.integers(0, 12))}\"",
            f"{rng.normal(155, 20):.0f}",
            f"{pulse} bpm",
            f"{rng.choice([40, 40.5, 41, 42, 42.5, 44]):g}",
            f"{95 - seconds / 35 - pulse / 20 + rng.normal(0, 1):.1f}",
        ])  # fmt: skip
    return _write(folder / "runners.csv", rows)


def housing(folder: Path, seed: int = 0) -> Path:
    """Flats in France: euros behind, spaces between thousands, price for a metre."""
    rng = np.random.default_rng(seed)
    rows: Rows = [
        ["Ville", "Surface", "Pièces", "Étage", "Année", "Charges", "Prix",
         "Prix au m2", "Visite", "DPE"]
    ]  # fmt: skip
    for _ in range(70):
        area = int(rng.integers(20, 140))
        grade = str(rng.choice(list("ABCDEFG")))
        price = int(area * rng.normal(4200, 700) - 9000 * "ABCDEFG".index(grade))
        price = max(price, 40_000)
        rows.append([
            str(rng.choice(["Paris", "Lyon", "paris", "Marseille"])),
            f"{area} m²",
            str(max(1, area // 25)),
            str(rng.choice(["RDC", "1", "2", "3", "4"])),
            str(rng.integers(1900, 2022)),
            f"{rng.normal(160, 40):.2f}".replace(".", ",") + " €",
            f"{price:,}".replace(",", " ") + " €",
            f"{price / area:,.0f}".replace(",", " ") + " €",
            _day(datetime.date(2024, 9, 1), rng.integers(0, 90)).strftime("%d/%m/%y"),
            grade,
        ])  # fmt: skip
    return _write(folder / "appartements.csv", rows, ";")


def staff(folder: Path, seed: int = 0) -> Path:
    """Personnel: salaries with k, hire and birth dates, a percent, an age, leavers."""
    rng = np.random.default_rng(seed)
    rows: Rows = [
        ["Employee", "Dept.", "Born", "Hired", "Age at hire", "Base salary", "Bonus",
         "Total pay", "FTE", "Absence", "Manager", "Left"]
    ]  # fmt: skip
    for number in range(40):
        born = _day(datetime.date(1965, 1, 1), rng.integers(0, 12000))
        hired = _day(datetime.date(2015, 1, 1), rng.integers(0, 3200))
        birthday = (hired.month, hired.day) < (born.month, born.day)
        base = int(rng.normal(52_000, 9_000))
        bonus = int(rng.choice([0, 1500, 3000, 5000]))
        absence = float(rng.gamma(2, 2.2))
        left = absence - bonus / 2500 + rng.normal(0, 1) > 3.5
        rows.append([
            f"E{1000 + number}",
            str(rng.choice(["Sales", "sales", "IT", "HR", "hr"])),
            born.strftime("%Y-%m-%d"),
            hired.strftime("%Y-%m-%d"),
            str(hired.year - born.year - birthday),
            f"£{base:,}",
            f"£{bonus:,}" if bonus else "-",
            f"£{base + bonus:,}",
            str(rng.choice(["100%", "80%", "50%"])),
            f"{absence:.1f} days",
            str(rng.choice(["TRUE", "FALSE"])),
            str(rng.choice(["?", ""])) if number % 13 == 5 else ("Y" if left else "N"),
        ])  # fmt: skip
    return _write(folder / "staff.csv", rows)


TABLES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "clinic": (clinic, "Befund"),
    "shop": (shop, "returned"),
    "lab": (lab, "outcome"),
    "sensors": (sensors, "vibration"),
    "survey": (survey, "Would recommend?"),
    "sports": (sports, "VO2max"),
    "housing": (housing, "Prix"),
    "staff": (staff, "Left"),
}
"""Each table's maker and what is to be predicted."""
