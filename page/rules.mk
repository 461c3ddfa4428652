# SPDX-License-Identifier: BSD-2-Clause
# make page       the page of `export -o run.html`, in one file: build/page/page.html; needs npm, and the network once

PAGE_FILE    := build/page/page.html
PAGE_SOURCES := page/build.mjs page/package.json $(wildcard page/src/*)
PAGE_MODULES := page/node_modules/.package-lock.json

.PHONY: page
page: $(PAGE_FILE)

$(PAGE_FILE): $(PAGE_SOURCES) $(PAGE_MODULES)
	$(call say,PAGE,$@)
	$(Q)node page/build.mjs $@

# No package runs a script of its own while it is installed.
$(PAGE_MODULES): page/package-lock.json
	@command -v npm >/dev/null || { echo "make page: there is no npm: install Debian's npm" >&2; exit 1; }
	$(call say,NPM,page/node_modules)
	$(Q)cd page && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null && touch node_modules/.package-lock.json
