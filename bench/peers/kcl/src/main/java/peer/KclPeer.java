package peer;

import java.io.IOException;
import java.net.URI;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.client.builder.AwsClientBuilder;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient;
import software.amazon.kinesis.common.ConfigsBuilder;
import software.amazon.kinesis.common.InitialPositionInStream;
import software.amazon.kinesis.common.InitialPositionInStreamExtended;
import software.amazon.kinesis.common.KinesisClientUtil;
import software.amazon.kinesis.coordinator.Scheduler;
import software.amazon.kinesis.metrics.NullMetricsFactory;
import software.amazon.kinesis.processor.SingleStreamTracker;
import software.amazon.kinesis.retrieval.RetrievalSpecificConfig;
import software.amazon.kinesis.retrieval.fanout.FanOutConfig;
import software.amazon.kinesis.retrieval.polling.PollingConfig;

/**
 * Reads a stream with the Kinesis Client Library until it has seen so many records or its input
 * ends, checkpoints and stops.
 *
 * <p>Arguments: KINESIS DYNAMODB STREAM COUNT MODE APPLICATION [MOST_RECORDS_PER_READ]; MODE is
 * "polling" or "fan-out", and APPLICATION names the lease table.
 */
public final class KclPeer {
    private static final long SHUTDOWN_S = 60;

    private final URI kinesisEndpoint;
    private final URI dynamodbEndpoint;
    private final String stream;
    private final boolean fanOut;
    private final String application;
    private final int mostRecordsPerRead;

    private KclPeer(String[] given) {
        kinesisEndpoint = URI.create(given[0]);
        dynamodbEndpoint = URI.create(given[1]);
        stream = given[2];
        fanOut = given[4].equals("fan-out");
        application = given[5];
        mostRecordsPerRead = given.length > 6 ? Integer.parseInt(given[6]) : 10_000;
    }

    public static void main(String[] given) throws Exception {
        Seen seen = new Seen(Integer.parseInt(given[3]));
        Scheduler scheduler = new KclPeer(given).scheduler(seen);
        Thread running = new Thread(scheduler, "scheduler");
        running.setDaemon(true);
        running.start();
        endWithInput(seen);
        seen.everything().get();
        CompletableFuture<Boolean> stopped = scheduler.startGracefulShutdown();
        boolean clean = stopped.get(SHUTDOWN_S, TimeUnit.SECONDS);
        System.out.flush();
        System.exit(clean ? 0 : 1);
    }

    private static void endWithInput(Seen seen) {
        Thread waiting =
                new Thread(
                        () -> {
                            try {
                                System.in.readAllBytes();
                            } catch (IOException gone) {
                                System.err.println("the input broke: " + gone.getMessage());
                            }
                            seen.enough();
                        },
                        "input");
        waiting.setDaemon(true);
        waiting.start();
    }

    private Scheduler scheduler(Seen seen) {
        KinesisAsyncClient kinesis =
                KinesisClientUtil.createKinesisAsyncClient(
                        at(KinesisAsyncClient.builder(), kinesisEndpoint));
        ConfigsBuilder configs =
                new ConfigsBuilder(
                        new SingleStreamTracker(stream, horizon()),
                        application,
                        kinesis,
                        at(DynamoDbAsyncClient.builder(), dynamodbEndpoint).build(),
                        at(CloudWatchAsyncClient.builder(), dynamodbEndpoint).build(),
                        UUID.randomUUID().toString(),
                        () -> new Processor(seen));
        return new Scheduler(
                configs.checkpointConfig(),
                configs.coordinatorConfig().parentShardPollIntervalMillis(500),
                configs.leaseManagementConfig()
                        .failoverTimeMillis(5_000)
                        .leaseAssignmentIntervalMillis(2_000L)
                        .shardSyncIntervalMillis(5_000)
                        .initialPositionInStream(horizon()),
                configs.lifecycleConfig(),
                configs.metricsConfig().metricsFactory(new NullMetricsFactory()),
                configs.processorConfig(),
                configs.retrievalConfig().retrievalSpecificConfig(retrieval(kinesis)));
    }

    private RetrievalSpecificConfig retrieval(KinesisAsyncClient kinesis) {
        if (fanOut) {
            return new FanOutConfig(kinesis).streamName(stream).applicationName(application);
        }
        return new PollingConfig(stream, kinesis)
                .maxRecords(mostRecordsPerRead)
                .idleTimeBetweenReadsInMillis(250);
    }

    private static InitialPositionInStreamExtended horizon() {
        return InitialPositionInStreamExtended.newInitialPosition(
                InitialPositionInStream.TRIM_HORIZON);
    }

    private static <B extends AwsClientBuilder<B, ?>> B at(B builder, URI endpoint) {
        return builder.endpointOverride(endpoint)
                .region(Region.US_EAST_1)
                .credentialsProvider(
                        StaticCredentialsProvider.create(
                                AwsBasicCredentials.create("local", "local")));
    }
}
