# SPDX-License-Identifier: BSD-2-Clause
"""The timeline of the page in real browsers: by mouse and keys, with hostile names, from a damaged file.

The pages are of a job that never ran (page/dev/sample.mjs), in which one call takes long: where it is, is known.
"""
import json
import re
import shutil
import subprocess

import pytest

import gaspbpf

pytestmark = pytest.mark.files
HERE = gaspbpf.TOP / "tests" / "page"
SHELL = gaspbpf.TOP / "build" / "page" / "page.html"
PROGRAMS = {"chrome": "chromium", "firefox": "firefox-esr"}
LOCK = "GASP_C_MUTEX_LOCK"
HEX = "#b5568f"


def node(*arguments):
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("the page needs node and npm")
    if not SHELL.exists():
        subprocess.run(["make", "-s", "page"], cwd=gaspbpf.TOP, check=True)
    return subprocess.run(["node", *map(str, arguments)], capture_output=True, text=True, timeout=gaspbpf.PATIENCE)


@pytest.fixture(scope="module", params=PROGRAMS)
def seen(request, tmp_path_factory):
    if not shutil.which(PROGRAMS[request.param]):
        pytest.skip(f"{PROGRAMS[request.param]} is not installed")
    result = node(HERE / "timeline.mjs", request.param, SHELL, tmp_path_factory.mktemp("page"))
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_what_is_reckoned_and_painted():
    result = node(HERE / "numbers.mjs")
    assert result.returncode == 0, result.stderr


def test_the_pointer_over_a_call_tells_what_it_is(seen):
    event, words, line, *rest = seen["mouse"]["hover"].split("\n")
    assert event.split() == [LOCK, "7.654", "ms"] and words == seen["words"] and line == "solver.c:190 in smooth"
    assert rest[-1].startswith("rank 0 worker-1")


def test_a_click_shows_the_call_as_text(seen):
    mouse, planted = seen["mouse"], seen["planted"]
    assert mouse["selected"] == planted["index"]
    panel = re.sub(r"\s+", " ", mouse["panel"])
    began = f"{planted['start'] / 1e6:.6f}".replace(".", "").lstrip("0")
    assert panel.startswith(LOCK) and "Took 7.654 ms" in panel and "Line solver.c:190 in smooth" in panel
    assert f"Arguments {seen['words']} Ended returned" in panel and "Thread rank 0 worker-1 (tid 2001)" in panel
    assert began in re.search(r"Began (.*?) ms into", panel)[1].replace(".", "").replace(" ", "")
    assert "calls of this thread shorter than 900 ns, not in this file" in panel
    assert mouse["live"].startswith(f"{LOCK}, 7.654 ms, rank 0 worker-1")


def test_a_double_click_makes_it_as_wide_as_fits(seen):
    fit, planted = seen["mouse"]["fit"], seen["planted"]
    assert fit["from"] < planted["start"] and planted["start"] + planted["duration"] < fit["to"]
    assert fit["to"] - fit["from"] < 1.5 * planted["duration"]


def test_a_group_is_in_its_colour_and_can_be_hidden(seen):
    assert "#%02x%02x%02x" % tuple(seen["mouse"]["shown"]) == HEX
    assert "#%02x%02x%02x" % tuple(seen["mouse"]["hidden"]) != HEX


def test_a_selected_time_is_split(seen):
    """The planted call's lane is in the lock all of that time, but for calls that are left out; others for a little."""
    begin, end = seen["mouse"]["range"]
    lanes, which = seen["mouse"]["lanes"], seen["mouse"]["lanes"].index("rank 0 worker-1")
    assert 1 <= len(lanes) <= 6, "all of the lanes in view, if they are few"
    shares = {name: (time, share, own[which]) for name, time, share, *own in seen["mouse"]["split"]}
    number, unit = shares["lock"][0].split()
    lock = float(number) * {"ms": 1e6, "us": 1e3}[unit]
    assert begin == int(begin) and end == int(end), "whole ns, as in the command"
    assert end - begin > 1e6 and 0.85 * (end - begin) < lock < 1.2 * (end - begin)
    of_all, own = ([float(row[at].strip("< %")) for row in shares.values()] for at in (1, 2))
    assert 97 <= sum(of_all) <= 103 and 97 <= sum(own) <= 103
    assert float(shares["lock"][2].rstrip(" %")) > 85


def test_dragging_moves_by_as_much_as_the_pointer(seen):
    assert abs(seen["mouse"]["dragged"] - 60) < 1


def test_the_wheel_zooms_with_control_only(seen):
    before, after = seen["mouse"]["wheel"]
    assert before == after
    zoomed = seen["mouse"]["zoomed"]
    assert zoomed["to"] - zoomed["from"] < 0.9 * (before["to"] - before["from"])
    assert before["from"] <= zoomed["from"] and zoomed["to"] <= before["to"]


def test_the_command_for_all_calls_of_what_is_in_view(seen):
    zoomed = seen["mouse"]["zoomed"]
    found = re.fullmatch(r"gaspbpf export sample\.gasp --from (\d+)ns --to (\d+)ns -o part\.html",
                         seen["mouse"]["command"])
    assert abs(int(found[1]) - zoomed["from"]) <= 1 and abs(int(found[2]) - zoomed["to"]) <= 1


def test_found_by_keys_alone(seen):
    keys, planted = seen["keys"], seen["planted"]
    assert keys["slash"] == "tl-search"
    assert keys["matches"] == f"1 of {seen['counts']['C_MUTEX_LOCK']}, longest first"
    assert keys["found"]["selected"] == planted["index"] and keys["found"]["lane"] == planted["lane"]
    assert keys["focus"] == "tl-scroll" and keys["empty"] == ["", ""]
    assert keys["goesOn"] == f"2 of {seen['counts']['C_MUTEX_LOCK']}, longest first"
    assert re.match(r"No call in this file is like that: no-such-call\s+Only calls are looked for", keys["none"][0])
    assert keys["none"][1:] == [-1, "tl-search"]
    assert keys["before"]["selected"] == planted["index"] - 1 and keys["again"]["selected"] == planted["index"]
    assert LOCK in keys["panel"] and keys["words"] != "none in this file"


def test_moving_by_keys(seen):
    keys, length = seen["keys"], seen["length"]
    span = {name: keys[name]["to"] - keys[name]["from"] for name in ("below", "moved", "home", "entered")}
    assert span["below"] == length and keys["below"]["lane"] == seen["planted"]["lane"] + 1
    assert abs(span["moved"] - length / 1.5 ** 2) < 2 and keys["moved"]["lane"] == seen["planted"]["lane"]
    assert keys["home"]["from"] == 0 and abs(span["home"] - span["moved"]) < 2
    assert keys["entered"]["selected"] >= 0 and span["entered"] < span["home"] / 2
    assert keys["cleared"]["selected"] == -1


def test_what_is_selected_anew_drops_what_was(seen):
    links, planted = seen["links"], seen["planted"]
    assert links["call"]["selected"] == planted["index"]
    assert links["range"]["selected"] == -1 and "selected" in links["panel"].split("\n")[0]
    assert links["entered"]["selected"] not in (-1, planted["index"])
    assert links["entered"]["from"] > planted["start"] + planted["duration"] - 1e6
    assert "selected" not in links["after"].split("\n")[0]


def test_what_a_link_looks_for_is_shown_at_once(seen):
    assert seen["links"]["sought"]["selected"] == seen["planted"]["index"]


def test_what_is_between_calls_is_told(seen):
    """The planted call is followed by 500 ns without one."""
    beside, planted = seen["beside"], seen["planted"]
    end, text = planted["start"] + planted["duration"], re.sub(r"\s+", " ", beside["gap"])
    assert text.startswith("No observed call for 500 ns")
    assert "What the program's own code, or functions that are not observed" in text
    assert f"Before {LOCK}, 7.654 ms, from solver.c:190 in smooth" in text and "Thread rank 0 worker-1" in text
    assert (beside["between"]["from"], beside["between"]["to"]) == (end, end + 500)
    assert beside["live"].startswith("No observed call for 500 ns, rank 0 worker-1")
    assert beside["before"]["selected"] == planted["index"] and beside["byKey"] == beside["between"]


def test_a_lane_is_selected_by_its_name_and_by_its_thread(seen):
    beside = seen["beside"]
    assert beside["lane"].startswith(beside["name"]) and beside["gone"] is None
    assert beside["heads"][1:] == [re.sub(r" \(tid \d+\)$", "", beside["name"]), "Share", "Of all lanes"]
    assert beside["thread"].startswith(beside["first"]) and "the whole run" in beside["thread"]
    assert (beside["whole"]["from"], beside["whole"]["to"], beside["whole"]["lane"]) == (0, seen["length"], 0)


def test_what_was_found_is_of_the_text_and_of_what_is_selected(seen):
    beside, count = seen["beside"], seen["counts"]["C_MUTEX_LOCK"]
    assert beside["found"] == [f"1 of {count}", f"{count} found", f"2 of {count}"]
    assert beside["stale"] == ["", None]


def test_long_arguments_can_be_read_to_their_end(seen):
    """Below them nothing moves."""
    long = seen["long"]
    assert long["moved"] == 0 and long["words"] in re.sub(r"\s+", " ", long["panel"]) and long["style"] == "scroll"


def test_paper_is_white_and_has_the_whole_width(seen):
    before, paper, after = seen["paper"]
    assert paper[0] < 680 < before[0] and paper[1] == "light"
    assert before == after


def test_hostile_names_do_nothing(seen):
    assert seen["requests"] == [] and seen["dialogs"] == 0 and seen["errors"] == []
    hostile = seen["hostile"]
    assert hostile["images"] == 0 and hostile["scripts"] == 1, "blocks are gone once they are read"
    assert "</script><script>alert(1)</script>" in hostile["title"] + hostile["job"]
    assert "\\u202egnp.exe\\u202c" in hostile["panel"], "signs that turn the writing are shown as codes"
    assert not hostile["marks"]
    assert re.fullmatch(r"[1-9][\d,]* of [\d,]+", hostile["matches"]), "names with markup are found like others"


def test_the_page_may_not_ask_a_network(seen):
    assert seen["hostile"]["policy"] == {"broken": ["connect-src", "img-src", "script-src-elem"], "ran": False}


def test_a_damaged_file_keeps_its_first_screen(seen):
    assert "this file is damaged" in seen["spoilt"]["cut"] and seen["spoilt"]["job"] == "rank 0: ./job 10"
    assert "gaspbpf export" in seen["spoilt"]["empty"]


def test_without_a_recording_there_is_no_command_for_parts(seen):
    gone, how = seen["gone"], "no recording was kept: `-o run.gasp` beside `-o run.html` keeps one"
    assert how in gone["note"] and how in gone["panel"] and "gaspbpf export" not in gone["text"]
    assert "null" not in gone["title"] + gone["text"] and gone["title"].startswith("rank 0")


def test_the_legend_has_groups_that_occur_and_says_how_bars_are_named(seen):
    legend = [line.strip() for line in seen["gone"]["legend"].split("\n")]
    assert "lock" in legend and "never" not in legend and "bars are named without GASP_" in legend


def test_times_are_written_alike(seen):
    assert "\u00b5" not in seen["gone"]["text"] + seen["mouse"]["panel"] and " us" in seen["gone"]["text"]


def test_no_text_becomes_markup():
    """Only text is made of data; no handlers and no styles stand in attributes."""
    for path in (gaspbpf.TOP / "page" / "src").iterdir():
        text = path.read_text()
        if path.suffix == ".js":
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|"
                                 r"DOMParser|createContextualFragment|"
                                 r"setAttribute\(\s*['\"](on|style|srcdoc|href)", text), path
        elif path.suffix == ".html":
            assert not re.search(r"\s(on[a-z]+|style)\s*=", text), path


def test_the_page_is_made_the_same_each_time(tmp_path):
    files = [tmp_path / name for name in ("a.html", "b.html")]
    for file in files:
        result = node(gaspbpf.TOP / "page" / "build.mjs", file)
        assert result.returncode == 0, result.stderr
    text = files[0].read_text()
    assert text == files[1].read_text() == SHELL.read_text()
    assert text.count("\n<!--gaspbpf:first-->\n") == 1 and text.count("\n<!--gaspbpf:rest-->\n") == 1
    assert text.index("gaspbpf:first") < text.index("<script>") < text.index("gaspbpf:rest")
    assert not re.search(r"https?://(?!www\.w3\.org/)", text.split("<script>")[0])
    assert "Leon Sorokin" in text, "whose work is in it"
