/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * csv_columns.c - the columns of tables for spreadsheets, whatever a recording has of them.
 *
 * A script reads a table by its first line. The JSON that it is made of leaves out what is not known, and a table
 * without rows says nothing at all; here stands all that a row may have, in its order. A table that is not here has the
 * columns that its rows have. tests/recording/test_csv_columns.py compares.
 */
#include "analysis/csv_columns.h"

#include <string.h>

static const struct {
	const char *table, *columns;
} tables[] = {
	{ "findings", "kind,event,pid,tid,percent,most.pid,most.tid,most.percent,least.pid,least.tid,least.percent,"
		      "severity_percent,places,gain_ns,gain_at_most_ns,weight_ns,confidence.how,confidence.test,"
		      "confidence.p,confidence.gain,confidence.not_seen.calls_not_on_timeline,"
		      "confidence.not_seen.windows,confidence.not_seen.cut,evidence.section,evidence.what,"
		      "evidence.times,evidence.of,evidence.mean_ns,evidence.deviation_ns,evidence.least_ns,"
		      "evidence.most_ns,section,text" },
	{ "events", "name,model,role,calls,delivered,lost,summed,skipped,timed,total_ns,self_ns,estimated_total_ns,"
		    "estimated_self_ns,min_ns,max_ns,mean_ns,bytes,bytes_sent,bytes_received,calls_without_bytes,"
		    "unwound,ended,open,deep,alone,tails,out_ns,inner.calls,inner.delivered,inner.lost,inner.summed,"
		    "inner.skipped,inner.timed,inner.total_ns,inner.self_ns,inner.estimated_total_ns,"
		    "inner.estimated_self_ns,inner.min_ns,inner.max_ns,inner.mean_ns,inner.bytes,inner.bytes_sent,"
		    "inner.bytes_received,inner.calls_without_bytes,inner.unwound,inner.ended,inner.open,inner.deep,"
		    "inner.alone,inner.tails" },
	{ "threads",
	  "pid,tid,name,rank,unit,calls,delivered,lost,summed,skipped,wall_ns,cost_ns,kernel_ns,"
	  "observed_ns,cpu_ns,run_queue_ns,run_queue_lost_ns,involuntary_switches,allowed_cpus,last_cpu,group_ns.wait,"
	  "group_ns.lock,group_ns.data,group_ns.coll,group_ns.task,group_ns.alloc,group_ns.io,"
	  "group_ns.other,group_ns.outside,group_ns.not_seen,estimated_group_ns.wait,"
	  "estimated_group_ns.lock,estimated_group_ns.data,estimated_group_ns.coll,estimated_group_ns.task,"
	  "estimated_group_ns.alloc,estimated_group_ns.io,estimated_group_ns.other,"
	  "estimated_group_ns.outside,estimated_group_ns.not_seen" },
	{ "processes", "pid,command,name,rank,unit,status,job,others,has_ended" },
	{ "left_out", "pid,command,name,why" },
	{ "not_observable", "event,library,program,model,runtime,partly,why" },
	{ "scheduling.starved", "pid,tid" },
	{ "scheduling.intervals", "pid,tid,from_ns,to_ns,run_queue_ns,run_queue_lost_ns,cpu_ns" },
	{ "locks.classes",
	  "event,model,locks,acquired,contended,wait_ns,behind_ns,uncontended_ns,unfinished,failed,"
	  "failed_ns,spin_ns,holds,hold_ns,released,handed_on,held_ns,busy_ns,nested,lent,"
	  "given_back_by_another,holds_without_start,holds_without_end,held_at_end,wait_max_ns,hold_max_ns,"
	  "uncontended_max_ns,holders_at_a_time,hold_mean_ns,contended_share,handed_on_share,serial_share,"
	  "busy_share" },
	{ "locks.locks",
	  "lock,event,model,pid,peer,class,acquired,contended,wait_ns,behind_ns,uncontended_ns,unfinished,"
	  "failed,failed_ns,spin_ns,holds,hold_ns,released,handed_on,held_ns,busy_ns,nested,lent,"
	  "given_back_by_another,holds_without_start,holds_without_end,held_at_end,wait_max_ns,hold_max_ns,"
	  "uncontended_max_ns,holders_at_a_time,hold_mean_ns,contended_share,handed_on_share,serial_share,"
	  "busy_share" },
	{ "communication.ranks",
	  "rank,pid,out.operations,out.bytes,out.operations_without_bytes,in.operations,in.bytes,"
	  "in.operations_without_bytes,in_ns,own_part.operations,own_part.bytes,"
	  "own_part.operations_without_bytes,others_parts.operations,others_parts.bytes,"
	  "others_parts.operations_without_bytes,to_unknown.operations,to_unknown.bytes,"
	  "to_unknown.operations_without_bytes,to_nobody,received.operations,received.bytes,"
	  "received.operations_without_bytes,received_from_unknown,collectives.operations,"
	  "collectives.bytes,collectives.operations_without_bytes" },
	{ "communication.pairs",
	  "from,from_pid,to,to_pid,operations,bytes,operations_without_bytes,mean_bytes,time_ns,"
	  "put.operations,put.bytes,put.operations_without_bytes,atomic.operations,atomic.bytes,"
	  "atomic.operations_without_bytes,sent.operations,sent.bytes,sent.operations_without_bytes" },
	{ "communication.small_messages",
	  "event,place,processes,rank,to,runs,messages,bytes,messages_that_would_do,time_ns,"
	  "without_waiting_ns,shortest_ns,saves_ns,brings_back,belonging_ns" },
	{ "communication.no_overlap",
	  "event,place,processes,rank,begun_by,waits,wait_ns,without_overlap,hidden_at_most_ns" },
	{ "tasks.runtimes",
	  "model,pid,from_ns,time_ns,executed,area_bound_ns,longest_chain_ns,longest_chain_tasks,"
	  "not_seen_submitted,in_progress_at_end,missing_calls,interrupted,runs_ns,data_ns,runtime_ns,"
	  "idle_ready_ns,idle_blocked_ns,idle_last_ns,idle_unsubmitted_ns,history_part_ns" },
	{ "phases", "kind,name,place,by_job,iterations,mean_ns,min_ns,max_ns,variation,other_calls,broken,"
		    "missing_calls,beginning_seen,end_seen,outliers_cost_ns,outliers_period" },
	{ "wait_states.states", "state,event,waits,waited_ns,longest_ns" },
	{ "wait_states.pairs", "state,waiting.pid,waiting.tid,for.pid,for.tid,waits,waited_ns" },
	{ "meetings", "event,meetings,spread_ns,widest_ns,others_wait_ns" },
	{ "delays.causes",
	  "pid,tid,does,inside,call.event,call.place,after.event,after.place,before.event,before.place,"
	  "direct_ns,passed_on_ns,times,lasted_ns,waits" },
	{ "memory.heaps",
	  "pid,rank,heap,exact,live_bytes,live_blocks,high_water_bytes,high_water_ns,blocks,bytes,freed,"
	  "freed_from_before,failed,steady_from_ns,steady_live_bytes,trend_bytes_per_s,grows,missing_calls,"
	  "unseen_for_a_while,blocks_of_unknown_bytes,calls_of_unknown_block,given_while_alive,beyond" },
	{ "memory.sites", "pid,rank,heap,place,event,blocks,bytes,live_blocks,live_bytes,oldest_ns,newest_ns,leak,"
			  "live_bytes_per_s,short_lived_blocks,short_lived_bytes,short_lived_ns" },
	{ "critical_path.threads", "pid,tid,on_path_ns" },
	{ "critical_path.events", "name,on_path_ns" },
	{ "critical_path.parts",
	  "does,inside,call.event,call.place,after.event,after.place,before.event,before.place,on_path_ns,"
	  "lasted_ns,imbalance_ns,gain_at_most_ns,gain_ns" },
	{ "regions.regions",
	  "site,event,function,times,time_ns,alone,unseen,incomplete,judged,least_threads,most_threads,"
	  "lasted_ns,shares_ns,longest_shares_ns,mean_shares_ns,work_ns,most_work_ns,mean_work_ns,"
	  "imbalance_percent,uneven_ns,waited_at_end_ns,overhead_ns,waits_inside_ns,locks_inside_ns,"
	  "single_ns,chunks" },
	{ "regions.beginners", "pid,tid,regions,from_first_to_last_ns,outside_ns,outside_waits_ns,outside_unknown_ns,"
			       "others_idle_ns" },
	{ "regions.outside", "after,before,pid,times,time_ns,waits_ns,longest_ns" },
};

const char *csv_columns(const char *table)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (!strcmp(table, tables[i].table))
			return tables[i].columns;
	return "";
}
