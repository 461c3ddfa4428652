/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * image_test.c - functions, source lines and variables of ELF files, checked against what the file was made of,
 * and against nm and addr2line.
 *
 * A small program is built in many ways with cc. Each function to be found begins with bytes of its own, so the
 * truth about its file offset is in the file, not in any tool. Where cc or an option is missing, that part is skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/target.h"

static char folder[] = "/tmp/gaspbpf-image.XXXXXX";

static const char program[] =
	"#include <stdlib.h>\n"
	"#include <unistd.h>\n"
	"#define MARKED(linkage, name, bytes) \\\n"
	"	__asm__(\".text\\n\" linkage \".type \" name \", @function\\n\" name \": .quad \" bytes \"\\n\" \\\n"
	"		\".size \" name \", 8\\n\")\n"
	"MARKED(\".globl marked_global\\n\", \"marked_global\", \"0x1122334455667788\");\n"
	"MARKED(\"\", \"marked_local\", \"0x8877665544332211\");\n"
	"int number = 42;\n"
	"int zero;\n"
	"__thread int per_thread = 7;\n"
	"char letter = 'x';\n"
	"static inline __attribute__((always_inline)) int inlined(int x)\n"
	"{\n"
	"	return rand() + x;\n" /* line 14 */
	"}\n"
	"__attribute__((noinline)) int visible(int x)\n"
	"{\n"
	"	int y = rand();\n" /* line 18 */
	"	y += inlined(x);\n"
	"	return y + 1;\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"	zero = -5;\n"
	"	if (argc > 1)\n"
	"		pause();\n"
	"	return visible(argc) & per_thread & number & letter;\n"
	"}\n";

/* --- helpers ----------------------------------------------------------- */

static int run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Runs a shell command in the folder; its exit status. */
static int run(const char *format, ...)
{
	char command[1024], whole[1200];
	va_list arguments;
	int status;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	snprintf(whole, sizeof(whole), "cd %s && { %s; } >output 2>errors", folder, command);
	status = system(whole);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* In one of four rotating buffers. */
static const char *in_folder(const char *name)
{
	static char paths[4][256];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void write_text(const char *name, const char *text)
{
	FILE *file = fopen(in_folder(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static struct image *open_image(const char *name)
{
	struct image *image = NULL;

	assert_int_equal(image_open_file(&image, in_folder(name)), 0);
	return image;
}

static void need(const char *tool)
{
	if (run("command -v %s", tool))
		skip();
}

/* Eight bytes of the file. */
static uint64_t bytes_at(const struct image *image, uint64_t offset)
{
	uint64_t bytes = 0;

	assert_int_equal(pread(image->fd, &bytes, sizeof(bytes), (off_t)offset), sizeof(bytes));
	return bytes;
}

static int make_folder(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	write_text("program.c", program);
	return 0;
}

static int remove_folder(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

/* --- functions --------------------------------------------------------- */

/* Every function that nm names at an address is there with that address, and nothing else is. */
static void compare_with_nm(const struct image *image, const char *name)
{
	size_t found = 0;
	char line[512];
	FILE *output;

	assert_int_equal(run("readelf -sW %s | awk '($4 == \"FUNC\" || $4 == \"IFUNC\") && $7 != \"UND\" "
			     "{ sub(/@.*/, \"\", $8); print $2, $8 }' | sort -u",
			     name),
			 0);
	output = fopen(in_folder("output"), "r");
	while (fgets(line, sizeof(line), output)) {
		unsigned long long address;
		char function[400];
		bool same = false;

		assert_int_equal(sscanf(line, "%llx %399s", &address, function), 2);
		for (size_t i = 0; i < image->nsymbols && !same; i++)
			same = !strcmp(image->symbols[i].name, function) && image->symbols[i].address == address;
		if (!same)
			fail_msg("%s: %s is not found", name, function);
		found++;
	}
	fclose(output);
	assert_int_equal(found, image->nsymbols);
}

static void functions_are_found_however_the_program_was_linked(void **state)
{
	static const char *const ways[] = {
		"",
		"-no-pie",
		"-static",
		"-static-pie",
		"-Wl,-z,noseparate-code",
		"-Wl,-z,separate-code",
		"-Wl,-z,max-page-size=0x200000",
		"-no-pie -Wl,--section-start=.text=0x800000",
		"-fuse-ld=gold",
		"-no-pie -fuse-ld=gold",
		"-fuse-ld=lld",
		"-no-pie -fuse-ld=lld",
		"-shared -fPIC",
		"-shared -fPIC -fuse-ld=lld",
	};
	int tried = 0;

	need("cc");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		const struct symbol *global, *local;
		bool is_static = strstr(ways[i], "static"), is_library = strstr(ways[i], "shared");
		struct image *image;

		if (run("cc -g -O1 %s -o linked program.c", ways[i]))
			continue;
		tried++;
		image = open_image("linked");
		global = image_symbol(image, "marked_global");
		local = image_symbol(image, "marked_local");
		assert_non_null(global);
		assert_non_null(local);
		assert_true(bytes_at(image, global->offset) == 0x1122334455667788);
		assert_true(bytes_at(image, local->offset) == 0x8877665544332211);
		assert_true(local->local && !global->local && global->size == 8);
		assert_ptr_equal(image_symbol_at(image, local->offset + 7), local);
		assert_ptr_equal(image_symbol_at(image, global->offset), global);
		assert_null(image_symbol(image, "marked"));
		assert_null(image_symbol(image, "number"));
		assert_null(image_symbol_at(image, 0xfffffff));
		assert_int_equal(image->is_program, !is_library);
		assert_int_equal(image->is_static, is_static);
		assert_true(image->has_symtab && image->has_dwarf && image->language == IMAGE_NATIVE);
		assert_int_equal(global->dynamic, is_library);
		compare_with_nm(image, "linked");
		image_close(image);
	}
	assert_true(tried > 0);
	print_message("linked in %d ways\n", tried);
}

static void a_library_tells_its_name_and_versions(void **state)
{
	const struct symbol *symbol;
	struct image *image;

	need("cc");
	write_text("versions.map", "OLD { global: twice; }; NEW { global: twice; fresh; } OLD;\n");
	write_text(
		"versions.c",
		"__asm__(\".symver twice_old, twice@OLD\");\n__asm__(\".symver twice_new, twice@@NEW\");\n"
		"int twice_old(void) { return 1; }\nint twice_new(void) { return 2; }\nint fresh(void) { return 3; }\n"
		"static int chosen(void) { return 4; }\nstatic void *choose(void) { return (void *)chosen; }\n"
		"int choice(void) __attribute__((ifunc(\"choose\")));\n");
	assert_int_equal(
		run("cc -O1 -fno-ipa-icf -shared -fPIC -Wl,-soname,libversions.so.3 -Wl,--build-id=0x0123456789 "
		    "-Wl,--version-script=versions.map -o libversions.so versions.c"),
		0);
	for (int stripped = 0; stripped < 2; stripped++) {
		image = open_image("libversions.so");
		assert_string_equal(image->soname, "libversions.so.3");
		assert_string_equal(image->build_id, "0123456789");
		assert_false(image->is_program || image->is_static);
		assert_int_equal(image->has_symtab, !stripped);
		symbol = image_symbol(image, "twice");
		assert_true(symbol && symbol->dynamic && !symbol->other_version);
		assert_string_equal(symbol[1].name, "twice"); /* the old one has another address: kept, and second */
		assert_true(symbol[1].other_version && symbol[1].offset != symbol->offset);
		assert_int_equal(
			run("test $((0x$(readelf -sW --dyn-syms libversions.so | awk '/twice@@NEW/ { print $2; exit "
			    "}'))) "
			    "= %llu",
			    (unsigned long long)symbol->address),
			0);
		assert_true(image_symbol(image, "fresh")->dynamic);
		assert_true(image_symbol(image, "choice")->ifunc);
		image_close(image);
		assert_int_equal(run("strip libversions.so"), 0);
	}
}

/* The system's own libraries, large and stripped. */
static void the_c_library_is_read(void **state)
{
	struct image *image;

	if (image_open_file(&image, "/lib/x86_64-linux-gnu/libc.so.6") && image_open_file(&image, "/lib64/libc.so.6"))
		skip();
	assert_string_equal(image->soname, "libc.so.6");
	assert_false(image->is_program); /* though it can be started */
	assert_true(image_symbol(image, "malloc")->dynamic);
	assert_true(image_symbol(image, "memcpy")->ifunc);
	assert_non_null(image_symbol(image, "pthread_mutex_lock"));
	image_close(image);
}

/* --- symbols and DWARF from elsewhere ---------------------------------- */

static void check_whole(const char *name, bool whole)
{
	struct source_location location;
	struct image *image = open_image(name);
	const struct symbol *symbol = image_symbol(image, "visible");

	assert_int_equal(image->has_symtab, whole);
	assert_int_equal(image->has_dwarf, whole);
	assert_int_equal(symbol != NULL, whole);
	if (symbol) {
		assert_int_equal(image_locate(image, symbol->offset + 5, &location), 0);
		assert_string_equal(location.function, "visible");
		assert_non_null(strstr(location.file, "program.c"));
		source_location_free(&location);
	}
	image_close(image);
}

static void a_separate_debug_file_is_used_when_it_belongs(void **state)
{
	need("cc");
	need("objcopy");
	for (int with_id = 0; with_id < 2; with_id++) {
		assert_int_equal(run("rm -rf .debug; cc -g -O1 -Wl,--build-id=%s -o parted program.c && "
				     "objcopy --only-keep-debug parted parted.debug && strip parted && "
				     "objcopy --add-gnu-debuglink=parted.debug parted",
				     with_id ? "sha1" : "none"),
				 0);
		check_whole("parted", true);
		assert_int_equal(run("mkdir .debug && mv parted.debug .debug"), 0);
		check_whole("parted", true);
		/* One of another build: the checksum or the build-id gives it away. */
		assert_int_equal(
			run("cc -g -O1 -DX -Wl,--build-id=%s -o other program.c && echo x >>.debug/parted.debug && "
			    "objcopy --only-keep-debug other .debug/parted.debug && echo >>.debug/parted.debug",
			    with_id ? "0xabcdef0123" : "none"),
			0);
		check_whole("parted", false);
		assert_int_equal(run("rm .debug/parted.debug && mkfifo .debug/parted.debug"), 0);
		check_whole("parted", false);
	}
}

static void mini_debug_data_is_unpacked(void **state)
{
	struct image *image;

	need("cc");
	need("objcopy");
	need("xz");
	assert_int_equal(
		run("cc -O1 -o mini program.c && objcopy --only-keep-debug mini symbols && strip mini && xz symbols && "
		    "objcopy --add-section .gnu_debugdata=symbols.xz mini"),
		0);
	image = open_image("mini");
	assert_true(image->has_symtab);
	assert_non_null(image_symbol(image, "marked_local"));
	assert_true(bytes_at(image, image_symbol(image, "marked_local")->offset) == 0x8877665544332211);
	image_close(image);
	/* Zeros pack well: more than fits is not unpacked. */
	assert_int_equal(run("strip mini; head -c 400M /dev/zero | xz -1 >zeros.xz && "
			     "objcopy --remove-section .gnu_debugdata --add-section .gnu_debugdata=zeros.xz mini"),
			 0);
	image = open_image("mini");
	assert_false(image->has_symtab);
	image_close(image);
}

/* --- source lines ------------------------------------------------------ */

/* Each byte of visible(), as addr2line sees it. */
static void compare_with_addr2line(const char *name)
{
	struct image *image = open_image(name);
	const struct symbol *symbol = image_symbol(image, "visible");
	bool saw_inlined = false;
	char line[512];
	FILE *output;

	assert_non_null(symbol);
	assert_int_equal(run("for a in $(seq %llu %llu); do printf '%%x\\n' $a; done | addr2line -e %s",
			     (unsigned long long)symbol->address,
			     (unsigned long long)(symbol->address + symbol->size - 1), name),
			 0);
	output = fopen(in_folder("output"), "r");
	for (uint64_t i = 0; i < symbol->size; i++) {
		struct source_location location;
		char expected[300];

		assert_non_null(fgets(line, sizeof(line), output));
		line[strcspn(line, " \n")] = '\0';
		assert_int_equal(image_locate(image, symbol->offset + i + 1, &location), 0);
		snprintf(expected, sizeof(expected), "%s:%u", location.file, location.line);
		assert_string_equal(expected, line);
		if (!strcmp(location.function, "visible")) {
			assert_int_equal(location.function_offset, i + 1);
		} else { /* inlined() and nothing else */
			assert_string_equal(location.function, "inlined");
			assert_int_equal(location.line, 14);
			assert_int_equal(location.function_offset, 0);
			saw_inlined = true;
		}
		source_location_free(&location);
	}
	assert_true(saw_inlined);
	fclose(output);
	image_close(image);
}

static void source_lines_are_those_of_addr2line(void **state)
{
	static const char *const ways[] = {
		"cc -O2",
		"cc -O1 -gdwarf-4",
		"cc -O2 -gdwarf-3",
		"cc -O2 -gz",
		"cc -O2 -no-pie -ffunction-sections",
		"clang -O2 -gdwarf-4",
		"clang -O1 -gdwarf-4 -fuse-ld=lld",
	};
	int tried = 0;

	need("cc");
	need("addr2line");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (run("%s -g -o lines program.c", ways[i]))
			continue;
		compare_with_addr2line("lines");
		tried++;
	}
	assert_true(tried > 0);
}

static void without_dwarf_there_is_the_function(void **state)
{
	struct source_location location;
	const struct symbol *symbol;
	struct image *image;

	need("cc");
	assert_int_equal(run("cc -O1 -o bare program.c"), 0);
	image = open_image("bare");
	assert_false(image->has_dwarf);
	symbol = image_symbol(image, "visible");
	assert_int_equal(image_locate(image, symbol->offset + symbol->size, &location), 0);
	assert_null(location.file);
	assert_string_equal(location.function, "visible");
	assert_int_equal(location.function_offset, symbol->size);
	source_location_free(&location);
	assert_int_equal(image_locate(image, 0, &location), -ENOENT);
	assert_int_equal(image_locate(image, UINT64_MAX, &location), -ENOENT);
	image_close(image);
}

static void inlined_functions_are_known(void **state)
{
	static const char *const ways[] = { "cc -O2", "cc -O2 -flto", "clang -O2" };
	int tried = 0;

	need("cc");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct image *image;

		if (run("%s -g -o inlining program.c", ways[i]))
			continue;
		image = open_image("inlining");
		assert_true(image_inlined(image, "inlined"));
		assert_false(image_inlined(image, "visible"));
		assert_false(image_inlined(image, "main"));
		assert_false(image_inlined(image, "never_heard_of"));
		image_close(image);
		tried++;
	}
	assert_true(tried > 0);
}

/* The pieces of DWARF that live in .dwo files are not ours to open: the target could have put a FIFO there. */
static void split_dwarf_opens_nothing(void **state)
{
	struct source_location location;
	const struct symbol *symbol;
	struct image *image;

	need("cc");
	if (run("cc -g -gsplit-dwarf -O1 -o split program.c && for f in *.dwo; do rm $f; mkfifo $f; done"))
		skip();
	image = open_image("split");
	symbol = image_symbol(image, "visible");
	alarm(20);
	assert_int_equal(image_locate(image, symbol->offset + 5, &location), 0);
	assert_string_equal(location.function, "visible");
	assert_non_null(strstr(location.file, "program.c"));
	image_inlined(image, "inlined");
	alarm(0);
	source_location_free(&location);
	image_close(image);
}

/* --- in a process ------------------------------------------------------ */

static pid_t start(const char *name)
{
	pid_t child = fork();

	if (!child) {
		execl(in_folder(name), name, "wait", NULL);
		_exit(127);
	}
	usleep(200000);
	return child;
}

static void check_in_process(const struct process *process, bool deleted)
{
	const struct mapping *code = NULL;
	struct mapping stale;
	struct image *image;
	int value = 0;

	for (size_t i = 0; i < process->nmappings && !code; i++)
		if (process->mappings[i].executable && process->mappings[i].path &&
		    strstr(process->mappings[i].path, "/running"))
			code = &process->mappings[i];
	assert_non_null(code);
	assert_int_equal(code->deleted, deleted);
	assert_int_equal(image_open_mapped(&image, process, code), 0);
	assert_true(image->inode == code->inode && image->device == code->device);
	assert_string_equal(image->path, code->path);
	assert_true(bytes_at(image, image_symbol(image, "marked_global")->offset) == 0x1122334455667788);
	assert_int_equal(image_read_int(image, process, "number", &value), 0);
	assert_int_equal(value, 42);
	assert_int_equal(image_read_int(image, process, "zero", &value), 0);
	assert_int_equal(value, -5);
	assert_int_equal(image_read_int(image, process, "per_thread", &value), -ENOTSUP);
	assert_int_equal(image_read_int(image, process, "letter", &value), -EINVAL);
	assert_int_equal(image_read_int(image, process, "visible", &value), -ENOENT);
	image_close(image);
	stale = *code; /* what lay there a moment ago was another file */
	stale.inode++;
	stale.path = "/nowhere/libgone.so";
	assert_int_equal(image_open_mapped(&image, process, &stale), -ENOENT);
	for (size_t i = 0; i < process->nmappings; i++) /* stack, vdso, anonymous memory */
		if (!process->mappings[i].inode)
			assert_int_equal(image_open_mapped(&image, process, &process->mappings[i]), -ENOEXEC);
}

static void a_mapped_file_is_opened_even_when_deleted(void **state)
{
	static const char *const ways[] = {
		"", "-no-pie", "-static", "-static-pie", "-fuse-ld=lld", "-Wl,-z,noseparate-code"
	};

	need("cc");
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct process *process;
		pid_t child;

		if (run("cc -O1 %s -o running program.c", ways[i]))
			continue;
		child = start("running");
		assert_int_equal(process_open(&process, child), 0);
		check_in_process(process, false);
		assert_int_equal(run("rm running"), 0);
		assert_int_equal(process_refresh(process), 0);
		if (!geteuid()) /* /proc/PID/map_files is for root; others reach the program through /proc/PID/exe */
			check_in_process(process, true);
		process_close(process);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

/* --- hostile files ----------------------------------------------------- */

static void what_is_no_image_is_left_alone(void **state)
{
	struct image *image = NULL;

	assert_int_equal(image_open_file(&image, in_folder("program.c")), -ENOEXEC);
	assert_int_equal(image_open_file(&image, folder), -ENOEXEC);
	assert_int_equal(image_open_file(&image, "/dev/zero"), -ENOEXEC);
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	alarm(20);
	assert_int_equal(image_open_file(&image, in_folder("fifo")), -ENOEXEC);
	alarm(0);
	need("cc");
	assert_int_equal(run("cc -c -o object.o program.c"), 0);
	assert_int_equal(image_open_file(&image, in_folder("object.o")), -ENOEXEC);
	assert_null(image);
}

/* Everything that can be asked of an image. */
static void ask_everything(const char *name)
{
	struct source_location location;
	const struct image_call *calls;
	struct image *image;
	size_t count;

	if (image_open_file(&image, in_folder(name)))
		return;
	for (size_t i = 0; i < image->nsymbols; i++)
		image_symbol_at(image, image_symbol(image, image->symbols[i].name)->offset);
	for (uint64_t offset = 0x1000; offset < 0x1400; offset += 7) {
		image_locate(image, offset, &location);
		source_location_free(&location);
	}
	calls = image_calls(image, &count);
	image_inlined(image, "inlined");
	for (size_t i = 0; i < count; i++)
		image_call_at(image, calls[i].return_offset + strlen(calls[i].name ?: ""));
	image_close(image);
}

static void write_bytes(const char *name, const void *data, size_t size)
{
	int fd = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, data, size), size);
	close(fd);
}

static void damaged_files_do_no_harm(void **state)
{
	static const uint64_t values[] = { 0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX };
	uint8_t whole[65536], damaged[sizeof(whole)];
	ssize_t size;
	int fd;

	need("cc");
	assert_int_equal(run("cc -g -O2 -o victim program.c"), 0);
	fd = open(in_folder("victim"), O_RDONLY);
	size = read(fd, whole, sizeof(whole));
	close(fd);
	assert_true(size > 1000 && size < (ssize_t)sizeof(whole));
	srand(1);
	alarm(120); /* a hang is a failure too */
	for (int i = 0; i < 1500; i++) {
		memcpy(damaged, whole, size);
		for (int k = rand() % 8; k >= 0; k--) {
			/* every other one in the headers at both ends, where one byte does most */
			size_t at = rand() % 2   ? rand() % (size - 8)
				    : rand() % 2 ? rand() % 1024
						 : size - 8 - rand() % 2400;
			uint64_t value = rand() % 2 ? (uint64_t)rand() : values[rand() % 9];

			memcpy(damaged + at, &value, (size_t)1 << rand() % 4);
		}
		write_bytes("damaged", damaged, rand() % 10 ? size : rand() % size);
		ask_everything("damaged");
	}
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_found_however_the_program_was_linked),
		cmocka_unit_test(a_library_tells_its_name_and_versions),
		cmocka_unit_test(the_c_library_is_read),
		cmocka_unit_test(a_separate_debug_file_is_used_when_it_belongs),
		cmocka_unit_test(mini_debug_data_is_unpacked),
		cmocka_unit_test(source_lines_are_those_of_addr2line),
		cmocka_unit_test(without_dwarf_there_is_the_function),
		cmocka_unit_test(inlined_functions_are_known),
		cmocka_unit_test(split_dwarf_opens_nothing),
		cmocka_unit_test(a_mapped_file_is_opened_even_when_deleted),
		cmocka_unit_test(what_is_no_image_is_left_alone),
		cmocka_unit_test(damaged_files_do_no_harm),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
