# SPDX-License-Identifier: BSD-2-Clause
"""What the documents say of the program: options that there are, commands, files. And the folders of the source: data
flows one way."""
import functools
import re
import subprocess

import pytest

import gaspbpf

pytestmark = pytest.mark.files
TOP = gaspbpf.TOP
DOCUMENTS = sorted([TOP / "README.md", TOP / "CONTRIBUTING.md", *(TOP / "docs").glob("*.md"),
                    *TOP.glob("[!.]*/README.md")])
# Of other programs: long options that documents name, and that are not ours.
FOREIGN = {"--cflags": "pkg-config", "--enable-feature": "Prometheus", "--inst": "Berkeley's compiler",
           "--figures": "bench.py", "--keep": "bench.py", "--long": "bench.py", "--quick": "bench.py",
           "--overlap": "srun", "--sample": "scripts/suites", "--install": "scripts/real", "--seeds": "nasty.py"}


@functools.cache
def help_of(command):
    return gaspbpf.run(*([command] if command else []), "--help").stdout


@functools.cache
def commands():
    listed = help_of(None).partition("Commands:\n")[2].partition("\n\n")[0]
    return [line.split()[0] for line in listed.splitlines()]


@functools.cache
def options(command):
    usage = help_of(command)
    found = set()
    for line in usage.splitlines():
        match = re.match(r"\s{1,6}(-.*?)(?:\s{2,}|$)", line)
        found |= set(re.findall(r"(?<![\w-])(--?[A-Za-z0-9?][\w-]*)", match[1])) if match else set()
    return found


def known():
    return set().union(*(options(command) for command in commands()))


def command_lines(text):
    """(command, its words) for each line that runs gaspbpf."""
    for line in text.splitlines():
        for found in re.finditer(r"(?:^|[\s`(])(?:sudo )?(?:\./)?gaspbpf +([^`|;&#]*)", line):
            words = re.split(r"\s{3,}", found[1])[0].split()
            if words and (words[0].startswith("-") or words[0] in commands()):
                yield (words[0] if words[0] in commands() else "record"), words


def wrong_options(text):
    wrong = []
    for command, words in command_lines(text):
        for word in words:
            if word == "--":
                break
            option = re.match(r"(--[a-z][a-z-]+|-[A-Za-z]$)", word.strip("[],"))
            if option and option[1].rstrip("-") not in options(command) | {"--help", "--version", "-V", "-?"}:
                wrong.append(f"gaspbpf {command} has no {word}: {' '.join(words)}")
    return wrong


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(TOP)))
def test_commands_in_documents_have_these_options(document):
    assert wrong_options(document.read_text()) == []


def test_examples_of_the_help_have_these_options():
    seen = 0
    for command in [None, *commands()]:
        examples = help_of(command).partition("Examples:\n")[2]
        assert wrong_options(examples) == [], command
        seen += len(list(command_lines(examples)))
    assert seen > len(commands())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(TOP)))
def test_options_that_documents_name_are_there(document):
    named = set(re.findall(r"`(--[a-z][a-z-]+)[`= ]", document.read_text()))
    assert named - known() - FOREIGN.keys() == set()


def test_every_option_is_told_in_a_document_or_the_manual():
    manual = subprocess.run([TOP / "scripts" / "man"], capture_output=True, text=True,
                            check=True).stdout.replace("\\-", "-")
    for command in commands():
        assert options(command), command
        for option in options(command):
            assert option in manual, (command, option)


def test_every_command_is_in_the_readme():
    readme = (TOP / "README.md").read_text()
    for command in commands():
        assert command == "record" or re.search(rf"`(sudo )?(gaspbpf )?{command}\b", readme), command


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(TOP)))
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
        assert (document.parent / target).exists(), target


def test_folders_of_the_source_include_each_other_one_way():
    """A folder that is included by what it includes could not be understood, or left out, without the other."""
    left = included_by_folder()
    assert len(left) > 10
    while left:
        bottom = [folder for folder, included in left.items() if not included & left.keys()]
        assert bottom, f"these include each other: {sorted(left)}"
        for folder in bottom:
            del left[folder]


def included_by_folder():
    below = {folder.name: set() for folder in (TOP / "user").iterdir()}
    for source in (TOP / "user").glob("**/*.[ch]"):
        room = source.relative_to(TOP / "user").parts[0]
        for folder in re.findall(r'^#include "(\w+)/[\w/]+\.h"', source.read_text(), re.MULTILINE):
            if folder != room and (TOP / "user" / folder).is_dir():
                below[room].add(folder)
    return below


def test_the_picture_of_the_source_is_the_sources_own():
    rows = re.findall(r"^\| (\w+) \| .* \| ?([\w, ]*)\|$", (TOP / "docs" / "architecture.md").read_text(), re.MULTILINE)
    told = {room: set(filter(None, includes.replace(" ", "").split(","))) for room, includes in rows if room != "room"}
    assert told == included_by_folder()


def is_private(header):
    """Its name or its first line says so."""
    line = next(line for line in header.read_text().splitlines() if header.name in line)
    return "private" in header.stem or re.search(r"[Pp]rivate|what (the files|[\w.]+\.c).* share", line)


def test_what_is_private_to_a_folder_stays_there():
    """Folders in it included. A header of a folder's own name is its door, and stays in the folder around that."""
    seen = 0
    for source in (TOP / "user").glob("**/*.[ch]"):
        for name in re.findall(r'^#include "([\w/]+/\w+\.h)"', source.read_text(), re.MULTILINE):
            header = TOP / "user" / name
            if header.exists() and is_private(header):
                place = header.parent.parent if header.stem == header.parent.name else header.parent
                assert source.is_relative_to(place), f"{source}: {name}"
                seen += 1
    assert seen > 100


BY_CHOICE = ("bpf/", "vmlinux/", "include/gaspbpf/")  # what is loaded into the kernel, and what it includes
WITHOUT = (".ci/", "debian/", "LICENSE", ".gitattributes")  # or no text that can hold a comment


def test_each_file_says_what_license_it_is_under():
    listed = subprocess.run(["git", "-c", f"safe.directory={TOP}", "ls-files"], cwd=TOP, capture_output=True, text=True,
                            check=True).stdout.splitlines()
    wrong = []
    for name in listed:
        if name.startswith(WITHOUT) or name.endswith((".png", ".json")) or not (TOP / name).exists():
            continue
        head = "".join((TOP / name).read_text(errors="replace").splitlines(keepends=True)[:2])
        said = re.search(r"SPDX-License-Identifier: (.+?)(?: \*/| -->)?$", head, re.MULTILINE)
        wanted = "GPL-2.0-only OR BSD-2-Clause" if name.startswith(BY_CHOICE) else "BSD-2-Clause"
        if not said or said[1] != wanted:
            wrong.append((name, said and said[1]))
    assert len(listed) > 900 and wrong == []
