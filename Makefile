# SPDX-License-Identifier: MIT
# A thin front; the real work is meson and ninja. `make demo` and `make check` set up what they need by themselves.
BUILD ?= build
export KILN_STATE ?= $(CURDIR)/.kiln
# What must be root (overlay mounts, namespaces) asks sudo for it when we are not.
# (A comma inside $(if ...) would end its argument, so the list has a name.)
PRESERVED := KILN_STATE,KILN_BUILD,CI,NO_COLOR
SUDO := $(if $(filter 0,$(shell id -u)),,$(if $(shell command -v sudo),sudo --preserve-env=$(PRESERVED)))

all: build

setup:
	@scripts/setup check

$(BUILD)/build.ninja:
	@meson setup $(BUILD) >$(BUILD).log 2>&1 || { cat $(BUILD).log >&2; exit 1; }
	@rm -f $(BUILD).log

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

demo:
	@scripts/setup demo
	@$(MAKE) --no-print-directory build
	@$(SUDO) env KILN_BUILD='$(abspath $(BUILD))' scripts/demo

check:
	@scripts/setup check
	@$(MAKE) --no-print-directory build
	@$(SUDO) env KILN_BUILD='$(abspath $(BUILD))' tests/run unit cli system

torture:
	@scripts/setup check
	@$(MAKE) --no-print-directory build
	@$(SUDO) env KILN_BUILD='$(abspath $(BUILD))' KILN_TORTURE=200 tests/run unit cli system

# ASan and UBSan over every test, the system tests too.
sanitize:
	@scripts/setup check
	@[ -f build-sanitize/build.ninja ] || meson setup -Db_sanitize=address,undefined build-sanitize >/dev/null
	@ninja -C build-sanitize --quiet
	@$(SUDO) env KILN_BUILD='$(abspath build-sanitize)' UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 LSAN_OPTIONS='suppressions="$(CURDIR)/tests/lsan.supp":print_suppressions=0' \
	  tests/run unit cli system

lint: $(BUILD)/build.ninja
	@scripts/setup lint
	@ninja -C $(BUILD) --quiet
	@scripts/lint $(BUILD)

bench:
	@scripts/setup bench
	@$(MAKE) --no-print-directory build
	@$(SUDO) env KILN_BUILD='$(abspath $(BUILD))' bench/run

# make install [prefix=/usr] [DESTDIR=/tmp/root]
install: $(BUILD)/build.ninja
	@$(if $(prefix),meson configure $(BUILD) -Dprefix='$(prefix)' >/dev/null)
	@ninja -C $(BUILD) --quiet
	@meson install -C $(BUILD) --no-rebuild --quiet $(if $(DESTDIR),--destdir='$(abspath $(DESTDIR))')

clean:
	rm -rf build build-sanitize

.PHONY: all setup build demo check torture sanitize lint bench install clean
