# SPDX-License-Identifier: BSD-2-Clause
"""The events as `gaspbpf events` lists them, the headers that tools compile against, and the pages made from the
models.

The truth is tests/support/documents.list: the tables of the documents, row by row, as they stand there.
"""
import filecmp
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile

import pytest

import conformance
import gaspbpf

pytestmark = pytest.mark.files

INCLUDE = gaspbpf.TOP / "include"
HEADERS = sorted(path.name for path in INCLUDE.glob("*.h"))
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{INCLUDE}", "-fsyntax-only"]


def documents():
    """(document, table, name, number, types, arguments) of each row."""
    lines = (gaspbpf.TOP / "tests" / "support" / "documents.list").read_text().splitlines()
    return [tuple(field.strip() for field in line.split("|"))[:6] for line in lines
            if line and not line.startswith("#")]


def events(*arguments):
    result = gaspbpf.run("events", *arguments, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["events"]


def compiles(text, *options, language="c"):
    result = subprocess.run(["g++" if language == "c++" else "gcc", "-x", language, *STRICT, *options, "-"],
                            input=text, text=True, capture_output=True, timeout=gaspbpf.PATIENCE)
    assert result.returncode == 0, result.stderr


def test_the_tables_are_whole():
    """As many rows as the documents have: an accident in the list would weaken every test below."""
    rows = documents()
    names = {document: {row[2] for row in rows if row[0] == document} for document in {row[0] for row in rows}}
    assert len(names["GASP 1.4"]) == 4 + 39 + 1 \
        and sum(name.startswith("GASP_UPC_") for name in names["GASP 1.4"]) == 39
    assert len(names["PUPC 1.1"]) == 2 + 8 + 2 + 22 + 8 + 2
    assert sum(name.startswith("starpu_prof_tool_event_") for name in names["StarPU"]) == 16
    assert sum(name.startswith("starpu.task.") for name in names["StarPU"]) == 10


@pytest.mark.parametrize("header", HEADERS)
def test_each_header_compiles_alone(header):
    twice = f'#include "{header}"\n#include "{header}"\n'
    compiles(twice + "int nothing;\n", "-std=c99")
    compiles(twice, "-std=c++11", language="c++")


def test_all_headers_compile_together():
    text = "".join(f'#include "{header}"\n' for header in HEADERS)
    compiles(text, "-std=c99")
    compiles(text, "-std=c++11", language="c++")


def test_every_number_of_pupc():
    """PUPC 1.1 tables 1 to 6."""
    rows = [row for row in documents() if row[0] == "PUPC 1.1"]
    checks = "".join(f"typedef char check_{name}[{name} == {number} ? 1 : -1];\n" for _, _, name, number, _, _ in rows)
    for side in "", "#define PUPC_TOOL\n", "#define PUPC_1_1\n":
        compiles(f'{side}#include "pupc.h"\n{checks}', "-std=c99")


def test_both_forms_of_pupc():
    """GASP 1.4's two arguments of pupc_create_event, PUPC 1.1's one, and the functions of a tool by PUPC 1.1."""
    program = ("int f(void) { unsigned e = pupc_create_event({}); pupc_event_start(e, 1); pupc_event_end(e, 2.0); "
               "return pupc_control(0) + (int)pupc_ticks_to_us(pupc_ticks_now()); }\n")
    compiles('#include "pupc.h"\n' + program.replace("{}", '"name", "%d"'), "-std=c99")
    compiles('#define PUPC_1_1\n#include "pupc.h"\n' + program.replace("{}", '"name"'), "-std=c99")
    compiles('#define PUPC_1_1\n#include "pupc.h"\n' + program.replace("{}", '"name"'), "-std=c++11", language="c++")
    compiles('#define PUPC_TOOL\n#include "pupc.h"\n'
             "void pupc_event_notify(unsigned int event_id, pupc_location* loc, ...) { (void)event_id; if (loc) "
             "loc->util = loc; }\nunsigned int pupc_create_event(const char* name) { return name ? "
             "PUPC_USEREVT_FIRST : 0; }\nvoid pupc_control(int on) { (void)on; }\n"
             'struct pupc_location place = { "main.c", 6, 3, 0 };\n', "-std=c99")


def test_a_trivial_handle_is_that_of_the_runtimes():
    """0, with GNU UPC and with Berkeley UPC."""
    text = subprocess.run(["gcc", "-E", "-P", f"-I{INCLUDE}", "-"],
                          input='#include "gasp_upc.h"\nvalue GASP_NB_TRIVIAL\n', text=True,
                          capture_output=True, timeout=gaspbpf.PATIENCE, check=True).stdout
    assert "value ((gasp_upc_nb_handle_t)0)" in text


def test_a_tool_by_gasp_compiles():
    """The prototypes of GASP 1.4 section 3, defined once more; the types of section 5.4; the order of the enums."""
    compiles(r"""
#include "gasp.h"
#include "gasp_upc.h"
struct _gasp_context_S { int n; };
static struct _gasp_context_S one;
gasp_context_t gasp_init(gasp_lang_t srclanguage, int *argc, char ***argv) { (void)argc; (void)argv; one.n = srclanguage; return &one; }
void gasp_event_notify(gasp_context_t context, unsigned int evttag, gasp_evttype_t evttype, const char *filename, int linenum, int colnum, ...)
{ va_list list; va_start(list, colnum); gasp_event_notifyVA(context, evttag, evttype, filename, linenum, colnum, list); va_end(list); }
void gasp_event_notifyVA(gasp_context_t context, unsigned int evttag, gasp_evttype_t evttype, const char *filename, int linenum, int colnum,
			 va_list varargs)
{
	(void)filename; (void)linenum; (void)colnum;
	if (evttag == GASP_UPC_ALL_REDUCE && evttype == GASP_START) {
		gasp_upc_PTS_t *dst = va_arg(varargs, gasp_upc_PTS_t *);
		context->n = dst != 0;
	}
}
int gasp_control(gasp_context_t context, int on) { return context ? on : 1; }
unsigned int gasp_create_event(gasp_context_t context, const char *name, const char *desc) { (void)context; return name != desc; }
static gasp_upc_lock_t *lock;
static gasp_upc_nb_handle_t handle = GASP_NB_TRIVIAL;
int use(void) { return lock == handle; }
typedef char v1[GASP_VERSION == 20051101 ? 1 : -1], v2[GASP_UPC_VERSION > 0 ? 1 : -1];
typedef char e1[GASP_START == 0 && GASP_END == 1 && GASP_ATOMIC == 2 ? 1 : -1];
typedef char e2[GASP_LANG_UPC == 0 && GASP_LANG_TITANIUM == 1 && GASP_LANG_CAF == 2 && GASP_LANG_MPI == 3 && GASP_LANG_SHMEM == 4 ? 1 : -1];
typedef char e3[GASP_UPC_REDUCTION_C == 0 && GASP_UPC_REDUCTION_UC == 1 && GASP_UPC_REDUCTION_S == 2 && GASP_UPC_REDUCTION_US == 3 &&
		GASP_UPC_REDUCTION_I == 4 && GASP_UPC_REDUCTION_UI == 5 && GASP_UPC_REDUCTION_L == 6 && GASP_UPC_REDUCTION_UL == 7 &&
		GASP_UPC_REDUCTION_F == 8 && GASP_UPC_REDUCTION_D == 9 && GASP_UPC_REDUCTION_LD == 10 ? 1 : -1];
typedef char r1[GASP_UPC_USEREVT_START >= 0xC0000000u && GASP_UPC_USEREVT_END > GASP_UPC_USEREVT_START ? 1 : -1];
""", "-std=c99")


def test_every_name_of_gasp_is_in_a_header():
    """Tables 1 to 10, with one number each in its header and its model."""
    names = {row[2] for row in documents() if row[0] == "GASP 1.4" and row[4]}
    numbers = {event["name"]: event["number"] for event in events("c", "upc")}
    assert names <= numbers.keys()
    text = '#include "gasp_c.h"\n#include "gasp_upc.h"\n'
    compiles(text + "".join(f"typedef char check_{name}[{name} == {numbers[name]}u ? 1 : -1];\n"
                            for name in sorted(names)), "-std=c99")


def test_numbers_and_names_are_unique():
    """Tools tell events by number alone; the user's begin at 0xC0000000 (PUPC 1.1 section 3.1)."""
    names, numbers = {}, {}
    for event in events():
        if event["model"] == "pupc":  # the names are the program's
            continue
        name, number = event["name"], event["number"]
        assert number < 0x60000000, name
        assert names.setdefault(name, number) == number and numbers.setdefault(number, name) == name, (name, number)


def test_numbers_are_gnu_upcs():
    """0 to 43, as in the gasp_upc.h that GNU UPC and Clang UPC have (they share it with C's events)."""
    order = ("- C_FUNC C_MALLOC C_REALLOC C_FREE UPC_COLLECTIVE_EXIT UPC_NONCOLLECTIVE_EXIT UPC_NOTIFY UPC_WAIT "
             "UPC_BARRIER UPC_FENCE UPC_FORALL UPC_GLOBAL_ALLOC UPC_ALL_ALLOC UPC_ALLOC UPC_FREE UPC_GLOBAL_LOCK_ALLOC "
             "UPC_ALL_LOCK_ALLOC UPC_LOCK_FREE UPC_LOCK UPC_LOCK_ATTEMPT UPC_UNLOCK UPC_MEMCPY UPC_MEMGET UPC_MEMPUT "
             "UPC_MEMSET UPC_GET UPC_PUT UPC_NB_GET_INIT UPC_NB_GET_DATA UPC_NB_PUT_INIT UPC_NB_PUT_DATA UPC_NB_SYNC "
             "UPC_CACHE_MISS UPC_CACHE_HIT UPC_CACHE_INVALIDATE UPC_ALL_BROADCAST UPC_ALL_SCATTER UPC_ALL_GATHER "
             "UPC_ALL_GATHER_ALL UPC_ALL_EXCHANGE UPC_ALL_PERMUTE UPC_ALL_REDUCE UPC_ALL_PREFIX_REDUCE").split()
    assert len(order) == 44
    numbers = {event["name"]: event["number"] for event in events("c", "upc")}
    for number, name in enumerate(order[1:], 1):
        assert numbers[f"GASP_{name}"] == number


def shown(arguments):
    return ", ".join(argument["type"] + ("" if argument["type"].endswith("*") else " ") + argument["name"]
                     for argument in arguments)


@pytest.mark.parametrize("language", ["GASP_C_", "GASP_UPC_"])
def test_types_and_arguments_are_the_documents(language):
    """GASP 1.4 tables 1 to 10: each event has the types that the table gives it, with these arguments, and no
    others."""
    told = {event["name"]: event for event in events("c", "upc")}
    expected = {}
    for document, _, name, _, types, arguments in documents():
        for kind in types.lower().split(", "):
            if document == "GASP 1.4" and name.startswith(language):
                expected.setdefault(name, {})[kind] = arguments
    assert expected
    for name, kinds in expected.items():
        found = {kind: shown(told[name][kind]) for kind in ("start", "end", "atomic") if kind in told[name]}
        assert found == kinds, name


def test_the_table_fits_and_names_are_found(tmp_path):
    table = gaspbpf.run("events")
    assert table.returncode == 0
    known = events()
    for event in known:
        assert re.search(rf"^ +\S+ {event['name']}\b", table.stdout, re.M), event["name"]
    for line in table.stdout.splitlines():
        assert len(line) <= 120 or " " not in line[100:], line
    one = gaspbpf.run("events", "GASP_C_MALLOC")
    assert "GASP_C_MALLOC" in one.stdout and "REALLOC" not in one.stdout and "void *malloc(size_t nbytes)" in one.stdout
    assert [event["name"] for event in events("MALLO?", "c")
            if event["model"] == "c"][:2] == ["GASP_C_FUNC", "GASP_C_MALLOC"]
    wrong = gaspbpf.run("events", "GASP_C_MALOC")
    assert wrong.returncode == 1 and "no such model or event" in wrong.stderr and not wrong.stdout
    own = tmp_path / "mine.model"
    own.write_text('model mine\nlanguage MINE\nlibrary libmine.so\nevent X both(int n) "a | in */ it"\nX user '
                   'void x(int n)\n')
    header = gaspbpf.run("events", "mine", "--header", "--model-file", own)
    assert header.returncode == 0
    compiles(header.stdout + "int nothing;\n", "-std=c99")
    page = gaspbpf.run("events", "mine", "--markdown", "--model-file", own)
    assert "| GASP_MINE_X | 0xc0000000 | Start, End | `int n` | a \\| in \\*/ it | `x` |" in page.stdout
    assert gaspbpf.run("events", "--header").returncode == 1


def test_it_needs_no_privileges():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gaspbpf-events-"))
    try:
        shutil.copytree(gaspbpf.TOP / "models", folder / "models")
        shutil.copy(gaspbpf.PROGRAM, folder)
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
        result = subprocess.run([folder / "gaspbpf", "events"], capture_output=True, text=True, user=65534, group=65534,
                                extra_groups=[], cwd="/", timeout=gaspbpf.PATIENCE)
        assert result.returncode == 0 and "GASP_C_MALLOC" in result.stdout, result.stderr
    finally:
        shutil.rmtree(folder)


def test_what_is_generated_is_what_the_models_say(tmp_path):
    """Where this fails: run `make docs` and commit what it writes."""
    subprocess.run([gaspbpf.TOP / "scripts" / "docs", tmp_path], check=True, timeout=gaspbpf.PATIENCE)
    made = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert len(made) > 10
    old = [path.relative_to(gaspbpf.TOP) for folder in ("include/*.h", "docs/events/*.md")
           for path in gaspbpf.TOP.glob(folder)
           if "Generated by" in path.read_text()[:1000]]
    assert set(old) <= set(made), "a generated file whose model is no more: remove it"
    for path in made:
        assert filecmp.cmp(tmp_path / path, gaspbpf.TOP / path, shallow=False), \
            f"{path} is not what the models say: make docs"


def test_lists_name_tests_that_exist():
    for event, runtime, test in conformance.listed():
        assert conformance.exists(test), (event, runtime, test)


def test_no_row_of_the_documents_is_empty():
    """A test has seen each row of each table on some runtime; where none can, the list says why."""
    told = subprocess.run([gaspbpf.TOP / "scripts" / "conformance", "--json"], capture_output=True, text=True,
                          check=True, timeout=gaspbpf.PATIENCE).stdout
    rows = [row for row in json.loads(told)["rows"] if row["document"] != "Beyond the documents"]
    assert [(row["name"], row["types"]) for row in rows] == [(name, types) for _, _, name, _, types, _ in documents()]
    assert [row["name"] for row in rows if not row["seen"] and "reason" not in row] == []
    assert {row["name"] for row in rows if not row["seen"]} == {"GASP_TITANIUM", "PUPC_LOCK_INIT_START",
                                                                "PUPC_LOCK_INIT_END"}


def test_every_event_of_every_model_says_its_arguments():
    """In one model of its language, at least. The functions by which programs tell of events carry these events'
    arguments."""
    known = [event for event in events() if event["model"] != "pupc"]
    stated = {event["name"] for event in known if event["arguments_stated"]}
    assert {event["name"] for event in known} - stated == set()


def test_installed_headers_are_found_by_pkg_config(tmp_path):
    subprocess.run(["make", "-s", "-C", gaspbpf.TOP, "-o", "gaspbpf", "install", f"DESTDIR={tmp_path}", "prefix=/usr"],
                   check=True, timeout=gaspbpf.PATIENCE, stdout=subprocess.DEVNULL)
    env = {**os.environ, "PKG_CONFIG_PATH": str(tmp_path / "usr/lib/pkgconfig"),
           "PKG_CONFIG_SYSROOT_DIR": str(tmp_path), "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1"}
    flags = subprocess.run(["pkg-config", "--cflags", "gaspbpf"], env=env, capture_output=True, text=True,
                           check=True).stdout.split()
    text = ('#include <gasp_upc.h>\n#include <gasp.h>\n#include <gasp_mpi.h>\nint tag(void) { return '
            'GASP_UPC_BARRIER; }\n')
    subprocess.run(["gcc", "-x", "c", *flags, "-fsyntax-only", "-"], input=text, text=True, check=True,
                   timeout=gaspbpf.PATIENCE)
    assert (tmp_path / "usr/share/gaspbpf/models/mpi.model").exists()
    manual = (tmp_path / "usr/share/man/man1/gaspbpf.1").read_text()
    for command in "record", "report", "export", "list", "events", "doctor":
        assert f".SS gaspbpf {command}\n.nf\nUsage: gaspbpf {command}" in manual
    assert {path.name for path in (tmp_path / "usr/share/doc/gaspbpf/events").iterdir()} >= {"c.md", "upc.md", "mpi.md"}
