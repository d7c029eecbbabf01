#!/usr/bin/env python3
"""The licences of everything that is linked into manx and manx-plot, as one Markdown document on stdout.

    dist/licences.py [TARGET]        default: x86_64-unknown-linux-musl

Reads `cargo metadata` and the sources of the crates; a crate without a licence, or without its text where the licence
asks for it, is an error.
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ("manx-ssd", "manx-plot")
# Licences that need no text of their own crate: Manx ships the text, or none is asked for.
COMMON = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Zlib", "BSD-3-Clause", "BSD-2-Clause", "0BSD", "Unlicense",
          "CC0-1.0", "MPL-2.0", "Unicode-3.0", "BSL-1.0", "MIT-0", "bzip2-1.0.6"}
VENDORED = [
    ("uPlot", "crates/report/vendor/uplot/LICENSE", "MIT"),
    ("Liberation Sans", "crates/plot/vendor/liberation/LICENSE", "OFL-1.1"),
]


def linked(target):
    """The packages that are compiled into the programs, without what only builds or tests them."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    about = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package["id"]: package for package in about["packages"]}
    nodes = {node["id"]: node for node in about["resolve"]["nodes"]}
    seen, left = set(), [name for name in about["workspace_members"] if packages[name]["name"] in PROGRAMS]
    while left:
        this = left.pop()
        if this in seen:
            continue
        seen.add(this)
        for dependency in nodes[this]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                left.append(dependency["pkg"])
    found = [packages[name] for name in seen if packages[name]["source"] is not None]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def texts(package):
    """The licence texts in the source of a package."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = [path for path in sorted(folder.iterdir()) if re.match(r"(?i)(licen[cs]e|copying|notice|unlicense)", path.name)]
    return [path.read_text(errors="replace").strip() for path in files if path.is_file()]


def main():
    target = sys.argv[1] if len(sys.argv) > 1 else "x86_64-unknown-linux-musl"
    wrong, rows, by_text = [], [], {}
    for package in linked(target):
        name, licence = f"{package['name']} {package['version']}", package["license"]
        parts = {part for part in re.split(r" (?:OR|AND) |[/()]", licence or "") if part.strip()}
        if not licence:
            wrong.append(f"{name}: it names no licence")
        elif not {part.strip() for part in parts} & COMMON:
            wrong.append(f"{name}: {licence} is not among the known ones: look at it, then add it to dist/licences.py")
        rows.append(f"| {name} | {licence} |")
        for text in texts(package):
            by_text.setdefault(text, []).append(name)
    for name, path, licence in VENDORED:
        rows.append(f"| {name} (vendored) | {licence} |")
        by_text.setdefault((ROOT / path).read_text().strip(), []).append(name)
    if wrong:
        sys.exit("\n".join(wrong))
    print("# What is linked into manx and manx-plot\n")
    print("Manx itself is under MIT or Apache-2.0: LICENSE-MIT, LICENSE-APACHE.\n")
    print("| crate | licence |\n|---|---|")
    print("\n".join(rows))
    for text, names in sorted(by_text.items(), key=lambda item: item[1]):
        print(f"\n## {', '.join(names)}\n\n```text\n{text.replace('```', '` ` `')}\n```")


main()
