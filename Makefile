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
	@scripts/check $(B)

lint:
	@scripts/lint

asan:
	@$(MAKE) B=build-asan MESON_ARGS="-Db_sanitize=address,undefined -Ddcheck=true" all
	@meson test -C build-asan --print-errorlogs

# FUZZ_SECONDS for each target; findings and new seeds stay in build-fuzz.
FUZZ_SECONDS ?= 60
fuzz:
	@test -f build-fuzz/build.ninja || CC=clang meson setup build-fuzz \
		-Dfuzzer=true -Db_lundef=false $(MESON_ARGS)
	@ninja -C build-fuzz fuzz-targets
	@set -e; for t in build-fuzz/tests/fuzz/fuzz_*_lf; do \
		n=$${t##*/fuzz_}; n=$${n%_lf}; echo "fuzz $$n"; \
		mkdir -p build-fuzz/corpus/$$n build-fuzz/findings; \
		$$t -max_total_time=$(FUZZ_SECONDS) -verbosity=0 \
			-print_final_stats=1 \
			-artifact_prefix=build-fuzz/findings/$$n- \
			build-fuzz/corpus/$$n tests/fuzz/corpus/$$n; \
	done

tsan:
	@$(MAKE) B=build-tsan MESON_ARGS="-Db_sanitize=thread" all
	@meson test -C build-tsan --print-errorlogs --suite unit

# Stops everything that writes at its writes, syncs and renames, on a disk that
# lies; the log says at how many of them. AKIN_TEST_SLOW=1: at every one.
crash: all
	@meson test -C $(B) --print-errorlogs --suite crash

# Random work by several processes at once, with kills, full disks and damage,
# against a model. SOAK: options of tests/soak/soak.py, such as --seed 7.
AKIN_SOAK_SECONDS ?= 14400
soak: all
	@python3 tests/soak/soak.py --akin $(B)/front/cli/akin \
		--seconds $(AKIN_SOAK_SECONDS) $(SOAK)

# BENCH: options of scripts/bench; AKIN_BENCH_DATA: series of versions.
bench: all
	@scripts/bench $(BENCH) $(B)

# Manual pages and completions, made by the program from its own table.
docs: all
	@ninja -C $(B) docs

install: all
	@meson install -C $(B)

.PHONY: all check lint asan tsan fuzz crash soak bench docs install
