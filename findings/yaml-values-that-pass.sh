#!/usr/bin/env bash
# Apache Cassandra 5.0.9: its cassandra.yaml accepts any value for `file_cache_round_up`, and a bare number for three
# durations.
#
# Expected: a switch is true or false, and any other value ends the start. For `hinted_handoff_enabled: ture` and
# `auto_snapshot: 16`, this is the case. Observed: `file_cache_round_up` is a Boolean that may be empty. A text or a
# number that is not a boolean becomes "not set" without a message, and a list becomes false.
#
# Also expected: since 4.1 a duration needs a unit, and `cache_load_timeout: 30` ends the start. Observed:
# `key_cache_save_period`, `row_cache_save_period` and `counter_cache_save_period` still accept a number of seconds.
# Their names are from before durations had units. A checker that uses only the types of the fields is wrong for these
# four settings.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/pom.xml" <<POM
<project><modelVersion>4.0.0</modelVersion><groupId>findings</groupId><artifactId>values</artifactId><version>1</version>
<dependencies><dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId>
<version>5.0.9</version></dependency></dependencies></project>
POM
mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$work/lib"
cat >"$work/Read.java" <<'JAVA'
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.cassandra.config.Config;
import org.apache.cassandra.config.YamlConfigurationLoader;

public class Read {
    public static void main(String[] texts) throws Exception {
        for (String text : texts) {
            Path file = Files.createTempFile("values", ".yaml");
            Files.writeString(file, text + "\n");
            String said;
            try {
                Config config = new YamlConfigurationLoader().loadConfig(file.toUri().toURL());
                said = "taken: " + Config.class.getField(text.split(":")[0]).get(config);
            } catch (Throwable refused) {
                said = "refused";
            }
            System.out.println("SAID " + text + " -> " + said);
        }
    }
}
JAVA
java -cp "$work/lib/*" "$work/Read.java" \
  'file_cache_round_up: true' 'file_cache_round_up: ture' 'file_cache_round_up: 16' 'file_cache_round_up: [a]' \
  'hinted_handoff_enabled: ture' 'auto_snapshot: 16' \
  'key_cache_save_period: 30' 'row_cache_save_period: 30' 'counter_cache_save_period: 30' 'cache_load_timeout: 30' |
  sed -n 's/^SAID //p' | tee "$work/said"
diff - "$work/said" <<'SEEN'
file_cache_round_up: true -> taken: true
file_cache_round_up: ture -> taken: null
file_cache_round_up: 16 -> taken: null
file_cache_round_up: [a] -> taken: false
hinted_handoff_enabled: ture -> refused
auto_snapshot: 16 -> refused
key_cache_save_period: 30 -> taken: 30s
row_cache_save_period: 30 -> taken: 30s
counter_cache_save_period: 30 -> taken: 30s
cache_load_timeout: 30 -> refused
SEEN
echo "Apache Cassandra 5.0.9: as described above"
