import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.concurrent.atomic.AtomicBoolean;
import org.antlr.runtime.ANTLRStringStream;
import org.antlr.runtime.BaseRecognizer;
import org.antlr.runtime.RecognitionException;
import org.antlr.runtime.CommonToken;
import org.antlr.runtime.Token;
import org.apache.cassandra.cql3.CqlLexer;
import org.apache.cassandra.cql3.ErrorListener;

/** Cuts each text of stdin (UTF-8 as hex, one a line) with Cassandra's own lexer, and executes none. */
public class Tokens {
    public static void main(String[] arguments) throws Exception {
        BufferedReader texts = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder said = new StringBuilder();
        for (String line; (line = texts.readLine()) != null; said.append('\n')) {
            byte[] bytes = HexFormat.of().parseHex(line);
            String text = new String(bytes, StandardCharsets.UTF_8);
            AtomicBoolean refused = new AtomicBoolean();
            CqlLexer lexer = new CqlLexer(new ANTLRStringStream(text));
            lexer.addErrorListener(new ErrorListener() {
                public void syntaxError(BaseRecognizer r, String[] names, RecognitionException e) {
                    refused.set(true);
                }
                public void syntaxError(BaseRecognizer r, String message) {
                    refused.set(true);
                }
            });
            StringBuilder tokens = new StringBuilder();
            for (Token next; (next = lexer.nextToken()).getType() != Token.EOF; ) {
                if (next.getChannel() != Token.DEFAULT_CHANNEL) continue;
                CommonToken token = (CommonToken) next;
                tokens.append(token.getStartIndex()).append('-').append(token.getStopIndex());
                tokens.append(' ');
            }
            said.append(refused.get() ? "refused" : tokens.toString().trim());
        }
        System.out.print(said);
    }
}
