# SPDX-License-Identifier: BSD-2-Clause
"""DuckDB, where it can be had: from npm, fetched once and kept in build/."""
import functools
import json
import os
import shutil
import subprocess

import gaspbpf

PACKAGE = "@duckdb/node-api"
SCRIPT = r"""
const { DuckDBInstance } = require("@duckdb/node-api");
const plain = (key, value) => typeof value === "bigint" ? { number: value.toString() }
    : value && value.constructor && value.constructor.name.startsWith("DuckDB") ? { text: value.toString() } : value;
(async () => {
    const connection = await (await DuckDBInstance.create(":memory:")).connect();
    await connection.run("SET threads = 2");
    await connection.run("SET TimeZone = 'UTC'");
    const answers = [];
    for (const statement of JSON.parse(process.argv[1]))
        answers.push((await connection.runAndReadAll(statement)).getRows());
    console.log(JSON.stringify(answers, plain));
})().catch(error => { console.error(String(error)); process.exit(1); });
"""


@functools.cache
def modules():
    """(folder, None), or (None, why there is none)."""
    folder = gaspbpf.TOP / "build" / "duckdb"
    if not (shutil.which("node") and shutil.which("npm")):
        return None, "DuckDB comes from npm, which is not here"
    if not folder.exists():
        partial = folder.with_name(f"duckdb-{os.getpid()}")
        partial.mkdir(parents=True)
        try:
            install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", partial, PACKAGE]
            result = subprocess.run(install, capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
            if result.returncode:
                return None, "npm cannot fetch DuckDB"
            partial.rename(folder)
        except (OSError, subprocess.TimeoutExpired):  # or another test was quicker
            pass
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return (folder / "node_modules", None) if folder.exists() else (None, "npm cannot fetch DuckDB")


def number_or_text(value):
    """What JSON has no word for."""
    return int(value["number"]) if "number" in value else value.get("text")


def ask(folder, *statements):
    """The rows that each statement gives, of the files in this folder."""
    there, _ = modules()
    result = subprocess.run(["node", "-e", SCRIPT, json.dumps(statements)], cwd=folder, capture_output=True, text=True,
                            timeout=gaspbpf.PATIENCE, env={**os.environ, "NODE_PATH": str(there)})
    assert result.returncode == 0, result.stderr
    answers = json.loads(result.stdout, object_hook=number_or_text)
    return [[tuple(row) for row in rows] for rows in answers]
