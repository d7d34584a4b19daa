#!/usr/bin/env python3
"""Checks that every #include of src/ follows the map of folders, one case per folder.

    tests/check_includes.py [SOURCE_TREE]

A folder may include itself, what its row names, and what those may include in turn; the session is a
door, so whoever may include it gets nothing that is behind it. Every header must exist, and a folder
without a row fails. Prints one line per finding and a closing line of counts.
"""

import re
import sys
from pathlib import Path

# folder: (folders it names, folders it must not reach through them)
ARROWS = {
    "base": ([], []),
    "numerics": (["base"], []),
    "kernels": (["numerics"], []),
    "hw": (["base"], []),
    "model": (["base", "numerics"], ["hw"]),
    "plan": (["model", "hw"], []),
    "trace": (["base"], []),
    "exec": (["plan", "kernels", "trace"], []),
    "sim": (["plan", "hw", "trace"], ["exec", "kernels"]),
    "train": (["plan", "exec", "kernels"], []),
    "cost": (["trace", "hw", "model"], []),
    "session": (["train", "exec", "sim", "cost"], []),
    "gfx": (["base"], []),
    "platform": (["base"], []),
    "ui": (["session", "trace", "gfx", "platform"], ["numerics", "kernels"]),
    "app": (["session", "ui", "platform"], []),
}
DOORS = {"session"}
# The user interface sees the protocol's messages of the session, not the session itself.
ONLY = {("ui", "session"): {"session/message.h"}}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
GENERATED = {"gfx/shaders_data.h", "ui/fonts_data.h"}
# Dear ImGui's own way to be included, and who may.
IMGUI = re.compile(r"imgui(_\w+)?\.h")
USES_IMGUI = {"ui", "app"}


def reachable(folder):
    names, banned = ARROWS[folder]
    seen = {folder}
    queue = list(names)
    while queue:
        name = queue.pop()
        if name in seen:
            continue
        seen.add(name)
        queue += ["base"] if name in DOORS else ARROWS[name][0]
    return seen - set(banned)


def findings(source, folder):
    if folder not in ARROWS:
        yield f"src/{folder}: no row in tests/check_includes.py says what it may include"
        return
    allowed = reachable(folder)
    for path in sorted((source / folder).rglob("*")):
        if path.suffix not in (".h", ".cc"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            name = match.group(1)
            where = f"{path.relative_to(source.parent)}:{number}"
            target = name.split("/")[0]
            only = ONLY.get((folder, target))
            if (path.parent / name).is_file() or (folder in USES_IMGUI and IMGUI.fullmatch(name)):
                continue
            if target not in ARROWS:
                yield f'{where}: "{name}" is not a header of src/; libraries are included with <>'
            elif target not in allowed:
                yield f'{where}: src/{folder} must not include "{name}"'
            elif only is not None and name not in only:
                yield f'{where}: src/{folder} may include only {", ".join(sorted(only))} of src/{target}'
            elif name not in GENERATED and not (source / name).is_file():
                yield f'{where}: "{name}" does not exist'


def main():
    source = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve() / "src"
    folders = sorted(path.name for path in source.iterdir() if path.is_dir())
    failed = 0
    for folder in folders:
        found = list(findings(source, folder))
        failed += bool(found)
        for line in found:
            print(line)
    if not folders:
        print(f"{source} holds no folders")
        failed = 1
    print(f"cases {max(len(folders), failed)} passed {len(folders) - failed} failed {failed} skipped 0")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
