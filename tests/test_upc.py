"""UPC on the stand-in runtime (tests/workloads/upc): names from the program's own symbol table, packed pointers."""
import re
import subprocess

import gaspbpf
import truth

NAMED = {
    "upc_memget_nb": "NB_GET_INIT", "upc_memput_nb": "NB_PUT_INIT", "upc_memput_nbi": "NB_PUT_INIT", "upc_sync": "NB_SYNC",
    "upc_synci": "NB_SYNC", "upc_sync_attempt": "NB_TRYSYNC", "upc_all_free": "FREE", "upc_all_reduceL": "ALL_REDUCE",
    "upc_all_prefix_reduceI": "ALL_PREFIX_REDUCE",
}


def event_of(function):
    if function in NAMED:
        return f"GASP_UPC_{NAMED[function]}"
    access = re.match(r"__(get|put|copy)s?(qi|hi|si|di|ti|sf|df|xf|blk)\d$", function)
    if access:
        return {"get": "GASP_UPC_GET", "put": "GASP_UPC_PUT", "copy": "GASP_UPC_MEMCPY"}[access[1]]
    return f"GASP_UPC_{function.removeprefix('__').removeprefix('upc_').upper()}"


JOB = [gaspbpf.WORKLOADS / "upc_job", "-n", "3", "--rounds", "50", "--warmup", "2", "--after", "2"]


def test_calls_and_payload_are_the_jobs_own(job, observe):
    """Attached to the monitor, the process that the threads were forked from and that is no thread itself."""
    ring = job(JOB, ranks=3).wait_ready()
    report = truth.window(ring, observe)
    counted = truth.by_event(truth.functions(ring), event_of)
    assert truth.differences_in_calls(report, counted, "UPC") == {}
    assert truth.differences_in_bytes(report, counted) == {}
    assert {thread["rank"] for thread in report["threads"] if thread["calls"]} == {0, 1, 2}
    alone = subprocess.run([*map(str, JOB)], capture_output=True, text=True, timeout=gaspbpf.PATIENCE, check=True)
    assert truth.checksum(alone.stdout) == truth.checksum(ring.output())
