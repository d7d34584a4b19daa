"""Writes loss.json and compares it with the one in the tree: exit status 1 if a figure is 1 % away.

    check_loss.py --run DIR --out DIR
"""

import argparse
import json
import os
import sys

TOLERANCE = 0.01
STORED = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "../../assets/models/scope-micro/loss.json"
)


def figures(run):
    with open(os.path.join(run, "train_log.csv"), encoding="utf-8") as log:
        last = log.read().split()[-1].split(",")
    with open(os.path.join(run, "evaluation.json"), encoding="utf-8") as stream:
        loss = json.load(stream)["loss"]
    out = {"train_loss": float(last[3])}
    for name, rows in loss.items():
        for key, row in rows.items():
            for unit, value in row.items():
                out["%s, %s, %s" % (name, key, unit)] = round(value, 5)
    return out


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", required=True)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    got = figures(arguments.run)
    stored = None
    if os.path.exists(STORED):
        with open(STORED, encoding="utf-8") as stream:
            stored = json.load(stream)["losses"]
    content = {"command": "tools/train/train --out DIR", "tolerance": TOLERANCE, "losses": got}
    with open(os.path.join(arguments.out, "loss.json"), "w", encoding="utf-8") as stream:
        json.dump(content, stream, indent=2)
        stream.write("\n")
    if stored is None:
        print("no stored loss.json to compare with")
        return 0
    bad = 0
    for name, want in stored.items():
        if name not in got:
            print("%s: stored, but not measured by this run" % name)
            bad += 1
        elif abs(got[name] - want) > TOLERANCE * want:
            print("%s: %.5f, but %.5f is stored" % (name, got[name], want))
            bad += 1
    print("%d of %d stored figures reproduced within 1 %%" % (len(stored) - bad, len(stored)))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
