/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control_server.c - the recorder's side of 'gaspbpf control'.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "observe/control.h"
#include "target/target.h"
#include "util/files.h"
#include "util/log.h"

#define AT_ONCE                                                                                                      \
	16 /* requests between two looks at the rings; one of those for which all processes may have to be looked at \
	    */
#define WAITING 64 /* who wait for an answer; the oldest goes without when there are more */

/* Somebody who has been promised an answer. */
struct waiting {
	uint64_t ticket; /* 0: nobody */
	struct sockaddr_un from;
	socklen_t length;
};

struct control {
	int fd;
	struct sockaddr_un address;
	struct waiting waiting[WAITING];
	unsigned next;
};

/* Ours alone, whoever may have been here before. Only root can make one in /run. */
static int check_folder(const char *folder)
{
	struct stat found;

	if (!geteuid() && mkdir(folder, 0755) && errno != EEXIST)
		return -errno;
	if (lstat(folder, &found))
		return -errno;
	return S_ISDIR(found.st_mode) && found.st_uid == geteuid() && !(found.st_mode & 022) ? 0 : -EPERM;
}

static int make_socket(struct control *c, const char *folder)
{
	const int yes = 1;
	int err = check_folder(folder), fd;

	if (err)
		return err;
	c->address.sun_family = AF_UNIX;
	snprintf(c->address.sun_path, sizeof(c->address.sun_path), "%s/%d.sock", folder, getpid());
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	unlink(c->address.sun_path); /* of a recorder with our number that was killed */
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) ||
	    bind(fd, (struct sockaddr *)&c->address, sizeof(c->address)) || chmod(c->address.sun_path, 0666)) {
		err = -errno;
		close(fd);
		return err;
	}
	c->fd = fd;
	return 0;
}

struct control *control_open(void)
{
	static const char *const folders[] = CONTROL_FOLDERS;
	struct control *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = -1;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int err = make_socket(c, folders[i]);

		if (!err)
			return c;
		log_info("'gaspbpf control' cannot reach this run in %s: %s", folders[i], strerror(-err));
	}
	control_close(c);
	return NULL;
}

void control_close(struct control *c)
{
	if (!c)
		return;
	if (c->fd >= 0) {
		file_remove(c->address.sun_path);
		close(c->fd);
	}
	free(c);
}

const char *control_path(const struct control *c)
{
	return c ? c->address.sun_path : NULL;
}

int control_fd(const struct control *c)
{
	return c ? c->fd : -1;
}

/* --- requests -------------------------------------------------------------- */

static bool may(const struct process *process, uid_t asking)
{
	return !asking || asking == geteuid() || (process && process->uid == asking);
}

struct switched {
	size_t changed, already, forbidden;
};

static void switch_one(struct capture_session *s, pid_t pid, bool on, uid_t asking, struct switched *sum)
{
	struct process *process = capture_process(s, pid);
	int result;

	if (process && !may(process, asking)) {
		sum->forbidden++;
		return;
	}
	result = process ? capture_control(s, pid, on) : -ESRCH;
	sum->changed += result == 1;
	sum->already += result == 0;
}

/* The process, and all below it: a launcher's number stands for its ranks. */
static void answer_switch(struct capture_session *s, pid_t pid, bool on, uid_t asking, char *answer)
{
	struct switched sum = { 0 };
	pid_t *below = NULL;
	size_t count = 0;

	switch_one(s, pid, on, asking, &sum);
	if (!process_descendants(pid, NULL, &below, &count))
		for (size_t i = 0; i < count; i++)
			switch_one(s, below[i], on, asking, &sum);
	free(below);
	if (sum.changed || sum.already)
		snprintf(answer, CONTROL_TEXT, "done %zu %zu", sum.changed, sum.already);
	else
		snprintf(answer, CONTROL_TEXT, "%s", sum.forbidden ? "forbidden" : "unknown");
}

/* 0, or the ticket under which there will be another answer. */
static uint64_t answer_dump(struct capture_session *s, pid_t pid, uid_t asking, control_dump *dump, void *context,
			    char *answer)
{
	struct process *process = capture_process(s, pid);
	const char *refused = NULL;
	pid_t *below = NULL;
	size_t count = 0;
	uint64_t ticket;

	if (!process && !process_descendants(pid, NULL, &below, &count))
		for (size_t i = 0; i < count && !process; i++)
			process = capture_process(s, below[i]);
	free(below);
	snprintf(answer, CONTROL_TEXT, "%s", !process ? "unknown" : may(process, asking) ? "done 1 0" : "forbidden");
	if (!process || !may(process, asking))
		return 0;
	ticket = dump(context, asking, &refused);
	if (refused)
		snprintf(answer, CONTROL_TEXT, "failed %s", refused);
	return refused ? 0 : ticket;
}

/* As answer_dump. *known: it was a request. */
static uint64_t answer(struct capture_session *s, const char *request, uid_t asking, control_dump *dump, void *context,
		       char *text, bool *known)
{
	char word[16], rest;
	int pid;

	strcpy(text, "unknown");
	*known = s && sscanf(request, "%d %15s %c", &pid, word, &rest) == 2 && pid > 0;
	if (!*known)
		return 0;
	if (!strcmp(word, "dump"))
		return answer_dump(s, pid, asking, dump, context, text);
	if (!strcmp(word, "off") || !strcmp(word, "on"))
		answer_switch(s, pid, !strcmp(word, "on"), asking, text);
	return 0;
}

/* One request, if there is one. Who sent it is the kernel's word. */
static bool receive(struct control *c, char *request, struct sockaddr_un *from, socklen_t *length, uid_t *asking)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} extra;
	struct iovec text = { request, CONTROL_TEXT - 1 };
	struct msghdr message = { .msg_name = from,
				  .msg_namelen = sizeof(*from),
				  .msg_iov = &text,
				  .msg_iovlen = 1,
				  .msg_control = &extra,
				  .msg_controllen = sizeof(extra) };
	ssize_t got = recvmsg(c->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *head = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
	struct ucred sender;

	if (got < 0)
		return false;
	request[got] = '\0';
	*length = message.msg_namelen;
	*asking = (uid_t)-1;
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_CREDENTIALS &&
	    head->cmsg_len == CMSG_LEN(sizeof(sender))) {
		memcpy(&sender, CMSG_DATA(head), sizeof(sender));
		*asking = sender.uid;
	}
	return true;
}

void control_serve(struct control *c, struct capture_session *s, control_dump *dump, void *context)
{
	char request[CONTROL_TEXT], text[CONTROL_TEXT];
	struct sockaddr_un from;
	socklen_t length;
	bool known = false;
	uid_t asking;

	for (int i = 0; c && i < AT_ONCE && !known && receive(c, request, &from, &length, &asking); i++) {
		uint64_t ticket = answer(s, request, asking, dump, context, text, &known);

		if (ticket) {
			c->waiting[c->next++ % WAITING] = (struct waiting){ ticket, from, length };
			strcpy(text, CONTROL_LATER);
		}
		sendto(c->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&from, length);
	}
}

void control_answer(struct control *c, uint64_t ticket, bool written, const char *text)
{
	char answer[CONTROL_TEXT];

	snprintf(answer, sizeof(answer), written ? "done 1 0 %s" : "failed %s", text);
	for (unsigned i = 0; c && i < WAITING; i++) {
		struct waiting *w = &c->waiting[i];

		if (!w->ticket || w->ticket > ticket)
			continue;
		sendto(c->fd, answer, strlen(answer), MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&w->from,
		       w->length);
		w->ticket = 0;
	}
}
