# SPDX-License-Identifier: BSD-2-Clause
"""Jobs with something wrong in them, planted by their options, and what a report says of them.

The job writes down when each rank came to its calls; who waited for whom how long follows from that alone.
"""
import json

import gaspbpf
import truth


class Run:
    """A job that was observed while it worked: its own account, the recording, and the report on it."""

    def __init__(self, job, recording, report):
        truths = sorted(job.truths(), key=lambda each: each["rank"])
        members = truths[0].get("members")  # a job without ranks: its threads
        self.ranks, self.recording, self.report = members or truths, recording, report
        by_pid = {each["pid"]: each["rank"] for each in truths}  # images are counted from 1
        self.rank_of = {thread["tid"]: by_pid.get(thread["pid"], thread["rank"]) for thread in report["threads"]}
        if members:
            self.rank_of = {member["tid"]: index for index, member in enumerate(members)}
        self.wall = sum(thread["wall_ns"] for thread in report["threads"])

    def came(self, rank):
        return self.ranks[rank]["came"]

    def planted(self, rank):
        return sum(self.ranks[rank]["planted"])

    def has_its_processor(self, rank, planted=None):
        """As the kernel tells the job itself: what it is late (ns) is not what the machine was busy with otherwise."""
        return self.ranks[rank]["queued"] < 0.3 * (self.planted(rank) if planted is None else planted)

    def missed_most(self):
        """ns, of the thread that waited longest for a processor, beyond its waits for others."""
        return max(thread["run_queue_lost_ns"] or 0 for thread in self.report["threads"])

    def line(self, rank):
        return self.ranks[rank]["line"]

    def waited_for(self, waiting, culprit, members):
        """By the job's own clock, in all rounds in which the other was the last of these that came: how long one
        rank had been there while that one still worked, since it had left its last call."""
        total = 0
        for turn, (early, late) in enumerate(zip(self.came(waiting), self.came(culprit))):
            if late == max(self.came(rank)[turn] for rank in members):
                began = self.ranks[culprit]["left"][turn - 1] if turn else 0
                total += max(0, late - max(early, began))
        return total

    def causes(self):
        return [{**cause, "rank": self.rank_of[cause["tid"]],
                 "waiting": {self.rank_of[each["tid"]]: each["direct_ns"] for each in cause["waiting"]}}
                for cause in self.report["delays"]["causes"]]

    def state(self, state, waiting, awaited):
        """How long one rank waited for another in that state: ns."""
        return sum(pair["waited_ns"] for pair in self.report["wait_states"]["pairs"]
                   if (pair["state"], self.rank_of[pair["waiting"]["tid"]], self.rank_of[pair["for"]["tid"]])
                   == (state, waiting, awaited))

    def alone(self):
        """Sends and receives whose other side is not known."""
        return self.report["wait_states"]["unmatched"]

    def findings(self, *kinds):
        return [finding for finding in self.report["findings"] if not kinds or finding["kind"] in kinds]


def recorded(job, observe, command, ranks, tmp_path, options=(), env=()):
    """(the job, its recording, the report)"""
    tmp_path.mkdir(exist_ok=True)
    work = job(command, ranks=ranks, env={**truth.ENVIRONMENT, **dict(env)}).wait_ready()
    recording = tmp_path / "run.gasp"
    watcher = observe("-p", work.process.pid, "-o", recording, "--json", *options)
    work.work()
    status, _, errors = watcher.stop()
    assert status == 0, errors
    assert work.end() == 0, work.output()
    result = gaspbpf.run("report", "--json", recording)
    assert result.returncode == 0, result.stderr
    return work, recording, json.loads(result.stdout)


def observed(*arguments, **options):
    return Run(*recorded(*arguments, **options))


def near(seen, planted, share=0.1, slack=2_000_000):
    """Within a tenth of what was planted; slack (ns): what the probes and the clock's reading lie apart."""
    return abs(seen - planted) <= share * planted + slack
