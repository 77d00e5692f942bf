#!/usr/bin/env bash
# Apache Cassandra 5.0.9: guardrails of storage-attached indexes accept a fail threshold below the warn threshold, and a
# size of 0, if they are sizes. The guardrail that is a count accepts neither.
#
# Expected: each guardrail with two thresholds refuses a start if the warn threshold is not below the fail threshold, and
# refuses 0. For `collection_size` and `sai_sstable_indexes_per_query`, this is the case. The last one even refuses a
# fail threshold of 1 alone, because its default warn threshold is 32. Observed: `sai_string_term_size` starts with a
# warn threshold of 2 KiB above a fail threshold of 1 KiB, and with 0. A fail threshold of 1 byte passes too, also for
# `sai_frozen_term_size` and `sai_vector_term_size`.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/pom.xml" <<POM
<project><modelVersion>4.0.0</modelVersion><groupId>findings</groupId><artifactId>guardrails</artifactId><version>1</version>
<dependencies><dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId>
<version>5.0.9</version></dependency></dependencies></project>
POM
mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$work/lib"
cat >"$work/Read.java" <<'JAVA'
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.cassandra.config.Config;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.config.GuardrailsOptions;
import org.apache.cassandra.config.YamlConfigurationLoader;

public class Read {
    public static void main(String[] texts) throws Exception {
        DatabaseDescriptor.clientInitialization();
        for (String text : texts) {
            Path file = Files.createTempFile("guardrails", ".yaml");
            Files.writeString(file, text.replace("; ", "\n") + "\n");
            Config config = new YamlConfigurationLoader().loadConfig(file.toUri().toURL());
            String said;
            try {
                new GuardrailsOptions(config);
                said = "accepted";
            } catch (IllegalArgumentException refused) {
                said = "refused";
            }
            System.out.println("SAID " + text + " -> " + said);
        }
    }
}
JAVA
java -cp "$work/lib/*" "$work/Read.java" \
  'collection_size_warn_threshold: 2KiB; collection_size_fail_threshold: 1KiB' \
  'collection_size_fail_threshold: 0KiB' \
  'sai_sstable_indexes_per_query_fail_threshold: 1' \
  'sai_sstable_indexes_per_query_fail_threshold: 0' \
  'sai_string_term_size_fail_threshold: 1B' \
  'sai_string_term_size_warn_threshold: 2KiB; sai_string_term_size_fail_threshold: 1KiB' \
  'sai_string_term_size_fail_threshold: 0KiB' \
  'sai_frozen_term_size_fail_threshold: 1B' \
  'sai_vector_term_size_fail_threshold: 1B' |
  sed -n 's/^SAID //p' | tee "$work/said"
diff - "$work/said" <<'SEEN'
collection_size_warn_threshold: 2KiB; collection_size_fail_threshold: 1KiB -> refused
collection_size_fail_threshold: 0KiB -> refused
sai_sstable_indexes_per_query_fail_threshold: 1 -> refused
sai_sstable_indexes_per_query_fail_threshold: 0 -> refused
sai_string_term_size_fail_threshold: 1B -> accepted
sai_string_term_size_warn_threshold: 2KiB; sai_string_term_size_fail_threshold: 1KiB -> accepted
sai_string_term_size_fail_threshold: 0KiB -> accepted
sai_frozen_term_size_fail_threshold: 1B -> accepted
sai_vector_term_size_fail_threshold: 1B -> accepted
SEEN
echo "Apache Cassandra 5.0.9: as described above"
