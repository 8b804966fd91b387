# SPDX-License-Identifier: Apache-2.0
# Verbs only; meson.build files say how things are built.

B ?= build
MESON_ARGS ?=

all: $(B)/build.ninja
	@ninja -C $(B)
	@ln -sf front/cli/akin $(B)/akin 2>/dev/null || true

$(B)/build.ninja:
	@meson setup $(B) $(MESON_ARGS) >/dev/null

check: all
	@scripts/check

lint:
	@scripts/lint

asan:
	@$(MAKE) B=build-asan MESON_ARGS="-Db_sanitize=address,undefined -Ddcheck=true" all
	@meson test -C build-asan --print-errorlogs

tsan:
	@$(MAKE) B=build-tsan MESON_ARGS="-Db_sanitize=thread" all
	@meson test -C build-tsan --print-errorlogs --suite unit

.PHONY: all check lint asan tsan
