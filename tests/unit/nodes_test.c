/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of hosts, and the lines by which a node's part and who has started it talk to each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "nodes/private.h"

static void assert_hosts(const char *list, const char *joined)
{
	struct hosts hosts = { 0 };
	char text[1024] = "";

	assert_int_equal(hosts_add(&hosts, list), 0);
	for (size_t i = 0; i < hosts.count; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "", hosts.names[i]);
	assert_string_equal(text, joined);
	hosts_free(&hosts);
}

static void lists_are_taken_as_people_write_them(void **state)
{
	assert_hosts("n1", "n1");
	assert_hosts("n[1-3]", "n1 n2 n3");
	assert_hosts("n[08-11,3]", "n08 n09 n10 n11 n3");
	assert_hosts("r[1-2]c[1-2]-ib,login.site", "r1c1-ib r1c2-ib r2c1-ib r2c2-ib login.site");
	assert_hosts("b,a b\na", "b a");
}

static void what_is_no_name_is_refused(void **state)
{
	static const char *const wrong[] = { "-oProxyCommand=x",
					     "a;reboot",
					     "$(id)",
					     "`id`",
					     "a'b",
					     "../x",
					     ".x",
					     "n[1-",
					     "n[3-1]",
					     "n[a]",
					     "n[]",
					     "a\tb;c",
					     "n[1-9999999]",
					     "user@host",
					     "a/b",
					     "n[1]]",
					     "%h",
					     "a|b",
					     "\x80" };
	struct hosts hosts = { 0 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_not_equal(hosts_add(&hosts, wrong[i]), 0);
	hosts_free(&hosts);
}

/* What part_tell() and part_hand_over() write to standard output. */
static void written(char *text, size_t room, void (*write)(const void *), const void *what)
{
	FILE *file = tmpfile();
	int out = dup(STDOUT_FILENO);
	size_t n;

	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	write(what);
	dup2(out, STDOUT_FILENO);
	close(out);
	rewind(file);
	n = fread(text, 1, room - 1, file);
	text[n] = 0;
	fclose(file);
}

static void tell(const void *news)
{
	assert_true(part_tell(news));
}

static void news_come_over_as_they_were(void **state)
{
	const struct part_news news = { .state = PART_OBSERVING,
					.at = 1790000000123456789,
					.processes = 4,
					.events = UINT64_MAX,
					.lost = 3,
					.cost = 21,
					.status = 0,
					.node = "n3.site" };
	char text[500], labelled[600];
	struct part_news read;

	written(text, sizeof(text), tell, &news);
	snprintf(labelled, sizeof(labelled), "n3: %s", text); /* as pdsh has it without -N */
	for (int i = 0; i < 2; i++) {
		assert_true(part_read_news(i ? labelled : text, &read));
		assert_string_equal(read.node, news.node);
		assert_int_equal(read.state, news.state);
		assert_true(read.at == news.at && read.events == news.events);
		assert_int_equal(read.processes, 4);
		assert_int_equal(read.lost, 3);
		assert_int_equal(read.cost, 21);
	}
	for (size_t cut = 0; cut + 1 < strlen(text); cut++) { /* the last figure has one digit */
		snprintf(labelled, sizeof(labelled), "%.*s", (int)cut, text);
		assert_false(part_read_news(labelled, &read));
	}
	assert_false(part_read_news("gaspbpf-part ../../etc ready 1 1 1 1 1 1", &read));
	assert_false(part_read_news("gaspbpf-part n1 asleep 1 1 1 1 1 1", &read));
	assert_false(part_read_news("gaspbpf: n1 ready", &read));
}

static void give(const void *bytes)
{
	assert_true(part_hand_over("n1", bytes, 1000));
}

static void bytes_come_over_as_they_were(void **state)
{
	uint8_t bytes[1000];
	char text[5000], *rest = text, *line;
	struct buffer buffer = { 0 };
	const char *node;
	size_t length;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i * 7;
	written(text, sizeof(text), give, bytes);
	while ((line = strsep(&rest, "\n")) && *line) {
		assert_true(strlen(line) < 1024);
		assert_true(part_take_bytes(line, &node, &length, &buffer));
		assert_true(length == 2 && !strncmp(node, "n1", 2));
	}
	assert_int_equal(buffer.size, sizeof(bytes));
	assert_memory_equal(buffer.data, bytes, sizeof(bytes));
	assert_true(part_take_bytes("n1: gaspbpf-bytes n1 /+8=\r", &node, &length, &buffer));
	assert_int_equal(buffer.size, sizeof(bytes) + 2);
	assert_memory_equal(buffer.data + sizeof(bytes), "\xff\xef", 2);
	assert_false(part_take_bytes("gaspbpf-bytes n1 AA*A", &node, &length, &buffer));
	assert_false(part_take_bytes("gaspbpf-bytes n1 AAA", &node, &length, &buffer));
	assert_false(part_take_bytes("gaspbpf-bytes n1 AA==AAAA", &node, &length, &buffer));
	assert_false(part_take_bytes("gaspbpf-bytes n1 A=AA", &node, &length, &buffer));
	assert_false(part_take_bytes("gaspbpf-bytes n1 ====", &node, &length, &buffer));
	assert_int_equal(buffer.size, sizeof(bytes) + 2);
	buffer_free(&buffer);
}

static void the_last_order_holds_and_half_a_line_is_none(void **state)
{
	char path[] = "/tmp/gaspbpf-orders-XXXXXX";
	struct part_orders orders = { 0 };
	FILE *file = fdopen(mkstemp(path), "w");

	fputs("end 900\nbegin 100\nnonsense\nend 500\nbegin 2", file);
	fclose(file);
	part_read_orders(path, &orders);
	assert_int_equal(orders.begin, 100);
	assert_int_equal(orders.end, 500);
	unlink(path);
	part_read_orders(path, &orders); /* it is gone for a moment: what was told holds */
	assert_int_equal(orders.end, 500);
}

/* A command line, its words between bars: the host and where its daemon is to answer. NULL: it starts none. */
static void assert_starts(const char *line, const char *host, const char *answer)
{
	unsigned numbers[] = { 4000, 80 };
	const struct ports ports = { .numbers = numbers, .count = 2 };
	char text[300], *its_answer;
	const char *its_host;
	size_t size = strlen(line) + 1;
	bool starts;

	memcpy(text, line, size);
	for (size_t i = 0; i < size; i++)
		text[i] = text[i] == '|' ? 0 : text[i];
	starts = launched_read(text, size, &ports, &its_host, &its_answer);
	assert_int_equal(starts, host != NULL);
	if (!starts)
		return;
	assert_string_equal(its_host, host);
	assert_string_equal(its_answer, answer);
	free(its_answer);
}

static void a_remote_shell_tells_of_a_daemon(void **state)
{
	assert_starts("/usr/bin/ssh|-x|n2|\"/usr/bin/proxy\"|--port|login-1:4000|--id|1", "n2", "login-1:4000");
	assert_starts("ssh|-x|n1|PATH=/a:$PATH orted -uri \"7.0;tcp://10.0.0.1,10.1.0.1:80;tcp6://[fd00::1]:9\"", "n1",
		      "10.1.0.1:80");
	assert_starts(
		"ssh|-x|n1|export A;prted --prtemca hnp_uri \"job@0.0;tcp://10.0.0.1:80:64,24;tcp6://[fd00::1]:4000:64\"",
		"n1", "10.0.0.1:80");
	assert_starts("python3|/opt/site/ssh|n1|d|a:80", "n1", "a:80");
	assert_starts("ssh|-l|me|-p22|-oBatchMode=yes|-xi|key|-4|--|n1|d|a:80", "n1", "a:80");
	assert_starts("rsh|-n|-l|me|n1|d|a:80", "n1", "a:80");
	assert_starts("ssh|user@n1;id|d a:80", "user@n1;id", "a:80"); /* for hosts_add() to refuse */
}

static void others_start_none(void **state)
{
	assert_starts("ssh|n1|sleep|100", NULL, NULL);
	assert_starts("ssh|-N|-L|4000:a:80|n1", NULL, NULL); /* a tunnel */
	assert_starts("ssh|n1|d|a:8000", NULL, NULL);        /* nobody below the launcher listens there */
	assert_starts("ssh|n1|d|a:80000080", NULL, NULL);
	assert_starts("ssh|n1|d|:80|]:80", NULL, NULL);
	assert_starts("ssh|n1", NULL, NULL);
	assert_starts("ssh|-l", NULL, NULL);
	assert_starts("ssh", NULL, NULL);
	assert_starts("", NULL, NULL);
	assert_starts("solver|n1|a:80", NULL, NULL);
	assert_starts("a|b|c|ssh|n1|a:80", NULL, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_taken_as_people_write_them),
		cmocka_unit_test(what_is_no_name_is_refused),
		cmocka_unit_test(news_come_over_as_they_were),
		cmocka_unit_test(bytes_come_over_as_they_were),
		cmocka_unit_test(a_remote_shell_tells_of_a_daemon),
		cmocka_unit_test(others_start_none),
		cmocka_unit_test(the_last_order_holds_and_half_a_line_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
