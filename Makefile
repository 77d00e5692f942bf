# The two main commands. Longer scripts are in scripts/, xtask/ and laboratories/.
.PHONY: demo test

# Runs a study on a real Cassandra, and prints the path of the report.
demo:
	@scripts/demo

# Runs all checks: format, tidy, clippy, tests, generated documents, tests on a real Cassandra.
# As root on Debian, it first installs missing programs. Otherwise it names them.
# Without Java 17 and Maven, it skips the tests on a real Cassandra and reports this. With CI set, it fails instead.
test:
	@scripts/prerequisites rust java maven ssh musl rpm notebook browser || scripts/prerequisites --check rust
	@if scripts/prerequisites --check java maven; then cargo xtask ci; \
	elif [ -n "$${CI:-}" ]; then exit 1; \
	else cargo xtask ci --without-cassandra; fi
