// Makes a build of Cassandra 5.0 slower. Each request waits in the stage that handles client
// requests, and Cassandra then handles the request as usual.

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.apache.cassandra.cql3.BatchQueryOptions;
import org.apache.cassandra.cql3.CQLStatement;
import org.apache.cassandra.cql3.QueryHandler;
import org.apache.cassandra.cql3.QueryOptions;
import org.apache.cassandra.cql3.QueryProcessor;
import org.apache.cassandra.cql3.statements.BatchStatement;
import org.apache.cassandra.service.ClientState;
import org.apache.cassandra.service.QueryState;
import org.apache.cassandra.transport.Dispatcher.RequestTime;
import org.apache.cassandra.transport.messages.ResultMessage;
import org.apache.cassandra.utils.MD5Digest;

/** Cassandra makes one of it where {@code cassandra.custom_query_handler_class} names it. */
public final class SlowQueryHandler implements QueryHandler
{
    private static final long DELAY_NS = Long.getLong("cassay.delay_ns", 0);

    private final QueryHandler own = QueryProcessor.instance;

    @Override
    public CQLStatement parse(String text, QueryState state, QueryOptions options)
    {
        return own.parse(text, state, options);
    }

    @Override
    public ResultMessage process(CQLStatement statement, QueryState state, QueryOptions options,
                                 Map<String, ByteBuffer> payload, RequestTime time)
    {
        return own.process(statement, state, options, payload, time);
    }

    @Override
    public ResultMessage.Prepared prepare(String text, ClientState state, Map<String, ByteBuffer> payload)
    {
        return own.prepare(text, state, payload);
    }

    @Override
    public QueryHandler.Prepared getPrepared(MD5Digest id)
    {
        return own.getPrepared(id);
    }

    @Override
    public ResultMessage processPrepared(CQLStatement statement, QueryState state, QueryOptions options,
                                         Map<String, ByteBuffer> payload, RequestTime time)
    {
        LockSupport.parkNanos(DELAY_NS);
        return own.processPrepared(statement, state, options, payload, time);
    }

    @Override
    public ResultMessage processBatch(BatchStatement statement, QueryState state, BatchQueryOptions options,
                                      Map<String, ByteBuffer> payload, RequestTime time)
    {
        return own.processBatch(statement, state, options, payload, time);
    }
}
