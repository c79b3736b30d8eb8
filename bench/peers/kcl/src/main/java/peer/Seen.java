package peer;

import java.io.PrintStream;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import software.amazon.kinesis.retrieval.KinesisClientRecord;

/** Prints the sequence number and partition key of each record, and knows how many it has seen. */
final class Seen {
    private final int count;
    private final Set<String> sequenceNumbers = new HashSet<>();
    private final CompletableFuture<Void> everything = new CompletableFuture<>();
    private final PrintStream out = new PrintStream(System.out, false);

    Seen(int count) {
        this.count = count;
    }

    synchronized void print(List<KinesisClientRecord> records) {
        StringBuilder lines = new StringBuilder();
        for (KinesisClientRecord record : records) {
            lines.append(record.sequenceNumber()).append(' ').append(record.partitionKey());
            lines.append('\n');
            sequenceNumbers.add(record.sequenceNumber());
        }
        out.print(lines);
        out.flush();
        if (sequenceNumbers.size() >= count) {
            enough();
        }
    }

    void enough() {
        everything.complete(null);
    }

    /** Completed once as many different records as wanted were seen, or it is enough. */
    CompletableFuture<Void> everything() {
        return everything;
    }
}
