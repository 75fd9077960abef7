# SPDX-License-Identifier: GPL-2.0
# User targets only; what the modules are made of is in Kbuild, which kbuild prefers.
#
# Variables: KDIR= (a kernel source tree of your own; for `modules` also a prepared
# or built one) and, passed through to kbuild, O ARCH CROSS_COMPILE LLVM V W C CHECK.
# MEMTB_CACHE= moves the build cache.

MEMTB := '$(CURDIR)/scripts/memtb'
PASSED := O ARCH CROSS_COMPILE LLVM V W C CHECK
KBUILD_ARGS = $(foreach name,$(PASSED),$(if $($(name)),$(name)='$($(name))'))

ifneq ($(KDIR),)
export KDIR
endif

.DEFAULT_GOAL := help

help: ## this list
	@echo 'memtb: a test bed for kernel object allocators. Targets:'
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1 \2/p' $(MAKEFILE_LIST) | \
		while read -r name text; do printf '  %-17s %s\n' "$$name" "$$text"; done
	@echo 'The command behind them: scripts/memtb --help'

setup: ## install (as root) or name what this machine lacks
	@$(MEMTB) setup

run: ## the main job: make install over NFS, without and with memtb; prints the table
	@$(MEMTB) run --load install --arch x86_64 --up

check: ## all tests, warnings and linters; ends with "N passed, N failed"
	@$(MEMTB) check

modules: ## the modules for the guest kernels; with KDIR= for that kernel, in place
ifeq ($(KDIR),)
	@$(MEMTB) module
else
	$(MAKE) -C $(KDIR) M=$(CURDIR) $(KBUILD_ARGS) modules
endif

lint: ## checkpatch, shellcheck, flake8, pylint, SPDX lines
	@$(MEMTB) lint

clean: ## remove what building in place left (results/ stays)
	@$(MEMTB) clean

distclean-cache: ## empty the build cache: kernels, user lands, modules
	@$(MEMTB) clean --cache

.PHONY: help setup run check modules lint clean distclean-cache
