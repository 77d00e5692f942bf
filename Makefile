# Two commands do everything; anything longer than a line is in scripts/, xtask/ or laboratories/.
.PHONY: demo test

# The main job: a study on a real Cassandra. Ends by naming the report.
demo:
	@scripts/demo

# All checks: format, tidy, clippy, tests, generated documents, tests on a real Cassandra.
# As root on Debian it installs missing programs first; elsewhere it names them.
# Without Java 17 and Maven it skips the last tests and says so; CI does not allow that.
test:
	@scripts/prerequisites rust java maven ssh musl rpm notebook || scripts/prerequisites --check rust
	@if scripts/prerequisites --check java maven; then cargo xtask ci; \
	elif [ -n "$${CI:-}" ]; then exit 1; \
	else cargo xtask ci --without-cassandra; fi
