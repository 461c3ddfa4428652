/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * announcements.c - what user space tells the kernel side of events that programs announce, and of processes whose
 * measurement is off.
 */
#include <errno.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "observe.skel.h"
#include "probe/kernel_private.h"
#include "util/clock.h"

int kernel_know_event(struct kernel *kernel, pid_t pid, uint32_t id, const struct gb_texts *texts)
{
	struct gb_event_place place = { .pid = pid, .id = id };

	return bpf_map_update_elem(bpf_map__fd(kernel->observe->maps.texts), &place, texts, BPF_ANY) ? -errno : 0;
}

static void set_value(struct gb_control *control, int32_t value, uint64_t time)
{
	if (!value && control->value)
		control->off[control->next++ % GB_OFFS] = time;
	control->value = value;
}

int kernel_set_control(struct kernel *kernel, pid_t pid, int32_t value, uint64_t *time, bool *changed)
{
	int fd = bpf_map__fd(kernel->observe->maps.controls);
	struct gb_control control = { .value = 1 };
	uint32_t key = pid;

	if (bpf_map_lookup_elem(fd, &key, &control) && errno != ENOENT)
		return -errno;
	*changed = control.value != value;
	*time = clock_monotonic();
	if (!*changed)
		return 0;
	set_value(&control, value, *time);
	if (bpf_map_update_elem(fd, &key, &control, BPF_ANY))
		return -errno;
	__atomic_store_n(&kernel->observe->bss->some_off, true, __ATOMIC_SEQ_CST);
	return 0;
}

/* Of what it says itself the kernel side makes an entry, or marks it: so an entry that is new, or has no mark when it
 * is taken out, is not older than what was read. */
int kernel_remember_control(struct kernel *kernel, pid_t pid, int32_t value, uint64_t *time, bool *changed)
{
	int fd = bpf_map__fd(kernel->observe->maps.controls);
	struct gb_control control = { .value = 1 };
	uint32_t key = pid;

	*changed = false;
	*time = clock_monotonic();
	if (bpf_map_lookup_elem(fd, &key, &control) && errno != ENOENT)
		return -errno;
	if (control.heard || control.value == value)
		return 0;
	if (bpf_map_lookup_and_delete_elem(fd, &key, &control) && errno != ENOENT)
		return -errno;
	if (!control.heard)
		set_value(&control, value, *time);
	if (bpf_map_update_elem(fd, &key, &control, BPF_NOEXIST))
		return errno == EEXIST ? 0 : -errno;
	*changed = !control.heard;
	__atomic_store_n(&kernel->observe->bss->some_off, true, __ATOMIC_SEQ_CST);
	return 0;
}
