import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.cassandra.config.Config;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.config.YamlConfigurationLoader;

/** Checks one cassandra.yaml as a node does that begins, and starts nothing. */
public class Started {
    public static void main(String[] arguments) throws Exception {
        Path file = Path.of(arguments[0]);
        Config config = new YamlConfigurationLoader().loadConfig(file.toUri().toURL());
        String answer = "taken";
        try {
            DatabaseDescriptor.daemonInitialization(() -> config);
        } catch (Throwable refused) {
            Throwable cause = refused;
            while (cause.getCause() != null) cause = cause.getCause();
            String message = String.valueOf(cause.getMessage());
            // The server looks for its configuration file only after it has checked all settings.
            boolean isJudged = message.contains("cassandra.config");
            if (!isJudged) answer = "refused " + message.lines().findFirst().orElse("");
        }
        System.out.println("\nANSWER " + answer);
        System.exit(0);
    }
}
