import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import org.apache.cassandra.config.YamlConfigurationLoader;

/** Reads each text of stdin (UTF-8 as hex, one a line) as a cassandra.yaml, and starts nothing. */
public class Values {
    public static void main(String[] arguments) throws Exception {
        BufferedReader texts = new BufferedReader(new InputStreamReader(System.in));
        Path file = Files.createTempFile("values", ".yaml");
        StringBuilder said = new StringBuilder();
        for (String line; (line = texts.readLine()) != null; ) {
            Files.write(file, HexFormat.of().parseHex(line));
            String answer = "taken";
            try {
                new YamlConfigurationLoader().loadConfig(file.toUri().toURL());
            } catch (Throwable refused) {
                Throwable cause = refused;
                while (cause.getCause() != null) cause = cause.getCause();
                answer = "refused " + String.valueOf(cause.getMessage()).lines().findFirst().orElse("");
            }
            said.append("ANSWER ").append(answer).append('\n');
        }
        Files.delete(file);
        System.out.print("\n" + said);
    }
}
