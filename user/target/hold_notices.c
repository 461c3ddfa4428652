/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hold_notices.c - what the thread that holds a command and its caller tell each other: notices and questions one way,
 * answers the other. Each wakes the other by a bell (an eventfd).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target/hold_private.h"
#include "target/proc.h"
#include "util/clock.h"

void bell_ring(int fd)
{
	uint64_t one = 1;

	while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void bell_silence(int fd)
{
	uint64_t rung;

	while (read(fd, &rung, sizeof(rung)) < 0 && errno == EINTR)
		;
}

void hold_tell(struct hold *hold, const struct hold_notice *notice)
{
	struct question *question = calloc(1, sizeof(*question));

	if (!question)
		return;
	question->notice = *notice;
	pthread_mutex_lock(&hold->lock);
	*hold->last_question = question;
	hold->last_question = &question->next;
	pthread_mutex_unlock(&hold->lock);
	bell_ring(hold->told);
}

/* The process that a thread which is not its first one belongs to; in doubt the thread's own number. */
static pid_t process_of(pid_t tid)
{
	char path[40], *text, *at;
	pid_t pid = tid;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	text = proc_read(-1, path, 1 << 16, NULL);
	at = text ? strstr(text, "\nTgid:") : NULL;
	if (at && sscanf(at, "\nTgid: %d", &pid) != 1)
		pid = tid;
	free(text);
	return pid;
}

/* The tracee stands still until this is answered. */
void hold_ask(struct hold *hold, struct tracee *t, struct hold_notice notice)
{
	t->waiting = true;
	t->ticket = notice.ticket = ++hold->tickets;
	t->waits_since = notice.asked = clock_monotonic();
	notice.tid = t->tid;
	notice.pid = t->pid ?: process_of(t->tid);
	hold_tell(hold, &notice);
}

/*
 * A thread that traces is the tracer until the kernel has done with its end, which is after pthread_join(). A stop that
 * any thread of ours waits for in that moment is taken, and its signal with it: the job would live through a ^C. So
 * only an end is taken, once there is one.
 */
bool hold_collect(pid_t command, bool wait, int *status)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	siginfo_t info;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_PID, command, &info, WEXITED | WNOWAIT | (wait ? 0 : WNOHANG) | __WALL) && errno != EINTR)
			return false;
		if (info.si_pid == command &&
		    (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED))
			return waitpid(command, status, WNOHANG | __WALL) == command;
		if (!wait)
			return false;
		nanosleep(&moment, NULL); /* a stop: it lasts as long as that thread */
	}
}

/* Once nobody is held, the command's end is ours to collect. */
static bool ended_alone(struct hold *hold, struct hold_notice *notice)
{
	int status;

	if (!hold_collect(hold->command, false, &status))
		return false;
	hold->collected = true;
	epoll_ctl(hold->news, EPOLL_CTL_DEL, hold->ended, NULL);
	*notice = (struct hold_notice){ .kind = HOLD_ENDED, .pid = hold->command, .status = status };
	return true;
}

bool hold_next(struct hold *hold, struct hold_notice *notice)
{
	struct question *question;
	bool alone;

	pthread_mutex_lock(&hold->lock);
	alone = hold->left && !hold->collected;
	question = hold->first_question;
	if (question) {
		hold->first_question = question->next;
		if (!hold->first_question)
			hold->last_question = &hold->first_question;
	} else {
		bell_silence(hold->told);
	}
	pthread_mutex_unlock(&hold->lock);
	if (!question)
		return alone && ended_alone(hold, notice);
	*notice = question->notice;
	free(question);
	return true;
}

void hold_answer(struct hold *hold, const struct hold_notice *notice, enum hold_answer answer)
{
	struct reply *reply = notice->kind == HOLD_ENDED ? NULL : calloc(1, sizeof(*reply));

	if (!reply)
		return;
	*reply = (struct reply){ .tid = notice->tid, .ticket = notice->ticket, .answer = answer };
	pthread_mutex_lock(&hold->lock);
	reply->next = hold->replies;
	hold->replies = reply;
	pthread_mutex_unlock(&hold->lock);
	bell_ring(hold->woken);
}

static void take_reply(struct hold *hold, const struct reply *reply)
{
	struct tracee *t = hold_find(hold, reply->tid);

	if (reply->answer == HOLD_RELEASE_ALL)
		hold->all_leave = true;
	if (hold->all_leave || !t || !t->waiting || t->ticket != reply->ticket)
		return; /* it leaves with all the others, or was killed while it waited */
	t->waiting = false;
	if (t->stepping || t->ready)
		step_answered(hold, t, reply->answer);
	else
		hold_resume(hold, t);
}

void hold_take_replies(struct hold *hold)
{
	struct reply *reply, *next;

	pthread_mutex_lock(&hold->lock);
	reply = hold->replies;
	hold->replies = NULL;
	pthread_mutex_unlock(&hold->lock);
	for (; reply; reply = next) {
		next = reply->next;
		take_reply(hold, reply);
		free(reply);
	}
}
