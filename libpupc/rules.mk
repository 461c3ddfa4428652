# SPDX-License-Identifier: BSD-2-Clause
# libpupc: user events for any program (docs/user-events.md).

PUPC := $(BUILD)/libpupc/libpupc.a $(BUILD)/libpupc/libpupc.so

all: $(PUPC)

$(BUILD)/libpupc/%.o: libpupc/%.c include/pupc.h include/gaspbpf/pupc_table.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D) && $(CC) -Iinclude $(CFLAGS) -fPIC -fvisibility=hidden -fno-lto -c -o $@ $<

$(BUILD)/libpupc/%.o: libpupc/%.S
	$(call say,AS,$@)
	$(Q)mkdir -p $(@D) && $(CC) -c -o $@ $<

$(BUILD)/libpupc/libpupc.a: $(BUILD)/libpupc/pupc.o $(BUILD)/libpupc/entries.o
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libpupc/libpupc.so.1: $(BUILD)/libpupc/pupc.o $(BUILD)/libpupc/entries.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libpupc.so.1 -o $@ $^

$(BUILD)/libpupc/libpupc.so: $(BUILD)/libpupc/libpupc.so.1
	$(Q)ln -sf libpupc.so.1 $@

install: install-libpupc
.PHONY: install-libpupc
install-libpupc: $(PUPC)
	install -D -m 644 $(BUILD)/libpupc/libpupc.a $(DESTDIR)$(prefix)/lib/libpupc.a
	install -m 755 $(BUILD)/libpupc/libpupc.so.1 $(DESTDIR)$(prefix)/lib/libpupc.so.1
	ln -sf libpupc.so.1 $(DESTDIR)$(prefix)/lib/libpupc.so
	install -D -m 644 include/pupc.h $(DESTDIR)$(prefix)/include/pupc.h
	install -m 644 include/pupc.f90 $(DESTDIR)$(prefix)/include/pupc.f90
	install -d $(DESTDIR)$(pkgconfig)
	printf 'prefix=%s\nName: pupc\nDescription: User events for gaspbpf and GASP tools\nVersion: 1.4\nLibs: -L$${prefix}/lib -lpupc\nCflags: -I$${prefix}/include\n' \
		'$(prefix)' > $(DESTDIR)$(pkgconfig)/pupc.pc
