"""Reads the hand-written fragments in corpus/*.txt and fills their alternatives and slots.

A bank holds two views of every list: the fragments used for training and the held-out ones (every
tenth), which only appear in the evaluation set. Answers are never held out: the model may only be
asked for sentences it could have learnt, but in words it has not seen.
"""

import os
import re

MONTHS = """
January February March April May June July August September October November December
""".split()
FIRST = """
Anna Ben Carla David Elena Felix Grace Hugo Ines Jonas Karin Luis Maria Nora Oscar Paula Quinn
Rosa Samir Tina Uma Victor Wendy Yusuf Zoe Amir Bianca Chen Dora Emil Farah Georg Helga Ivan
Julia Kenji Lena Marco Nadia Omar Petra Ravi Sofia Tomas Vera Walter Ximena Yara José Zoë Åsa
Jürgen
""".split()
LAST = """
Adler Brown Costa Diaz Evans Fischer Garcia Hansen Ito Jansen Khan Lopez Miller Novak Okafor
Peters Quist Rossi Schmidt Tanaka Ueda Vargas Weber Young Zeman Baker Clark Dubois Ferrari
Gruber Horvat Kim Larsen Moreau Nguyen Ortiz Patel Ramos Silva Taylor Wagner Müller Núñez
Lindström
""".split()

_ALTERNATIVES = re.compile(r"\{([^{}]*)\}")
_SLOT = re.compile(r"\$([a-z]+)")
_ONSETS = [
    "b",
    "d",
    "f",
    "g",
    "h",
    "k",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "t",
    "v",
    "w",
    "st",
    "br",
    "kr",
]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ei"]
_CODAS = ["", "n", "r", "s", "l", "k", "m", "t"]


def expand(rng, text):
    """Replaces every {a|b} by one of its alternatives."""
    return _ALTERNATIVES.sub(lambda m: rng.pick(m.group(1).split("|")), text)


def made_up_word(rng):
    word = "".join(rng.pick(_ONSETS) + rng.pick(_VOWELS) for _ in range(rng.between(1, 2)))
    return word + rng.pick(_ONSETS) + rng.pick(_VOWELS) + rng.pick(_CODAS)


def person(rng):
    """A name; a third of the surnames are made up, so that copying is learnt and not a list."""
    last = made_up_word(rng).capitalize() if rng.chance(0.33) else rng.pick(LAST)
    return rng.pick(FIRST) + " " + last


def order_id(rng):
    digits = "".join(str(rng.below(10)) for _ in range(rng.between(4, 6)))
    return rng.pick(["A-", "B", "ORD-", "#", "X", "R-", ""]) + digits


def date(rng):
    day, month, year = rng.between(1, 28), rng.between(1, 12), rng.between(2023, 2028)
    return rng.weighted(
        [
            ("%d-%02d-%02d" % (year, month, day), 3),
            ("%d %s %d" % (day, MONTHS[month - 1], year), 2),
            ("%s %d" % (MONTHS[month - 1], day), 2),
        ]
    )


def amount(rng):
    whole = rng.between(3, 999)
    cents = rng.pick(["", ".50", ".99", ".%02d" % rng.below(100)])
    return rng.pick(["$%d%s", "%d%s dollars", "%d%s EUR", "$%d%s"]) % (whole, cents)


def clock(rng):
    return "%02d:%02d" % (rng.below(24), rng.below(60))


SLOTS = {
    "name": person,
    "order": order_id,
    "date": date,
    "amount": amount,
    "time": clock,
    "month": lambda rng: rng.pick(MONTHS),
}


def fill(rng, text):
    """Alternatives first, then $slots."""
    return _SLOT.sub(lambda m: SLOTS[m.group(1)](rng), expand(rng, text))


class Section:
    """One "== title" block: plain lines, "? " questions, "N " sentences, "a " and "r " lines."""

    def __init__(self, title):
        self.title = title
        self.lines, self.questions, self.answers, self.reasons = [], [], [], []
        self.sentences = {}

    def add(self, line):
        key, _, rest = line.partition(" ")
        if key == "?":
            self.questions.append(rest)
        elif key == "a":
            self.answers.append(rest)
        elif key == "r":
            self.reasons.append(rest)
        elif len(key) == 1 and key.isdigit():
            self.sentences.setdefault(int(key), []).append(rest)
        else:
            self.lines.append(line)


def split(items, held_out):
    """Every tenth fragment (from the seventh) is held out; short lists keep all for both."""
    if len(items) < 10:
        return items
    return [item for i, item in enumerate(items) if (i % 10 == 6) == held_out]


def read(name):
    """The sections of one fragment file, in file order."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", name)
    sections = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if not line or line.startswith("# "):
                continue
            if line.startswith("== "):
                sections.append(Section(line[3:]))
            else:
                sections[-1].add(line)
    return sections
