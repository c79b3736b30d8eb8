// The AWS SDK for JavaScript v3 against the local Kinesis: `node sdk.mjs SCENARIO ENDPOINT`.
// Prints what the client saw as one line of JSON; the Python side judges it.
import {
  CreateStreamCommand,
  DescribeStreamSummaryCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
  PutRecordCommand,
  PutRecordsCommand,
  RegisterStreamConsumerCommand,
  SplitShardCommand,
  SubscribeToShardCommand,
} from "@aws-sdk/client-kinesis";

const [scenario, endpoint] = process.argv.slice(2);
const client = new KinesisClient({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: "local", secretAccessKey: "local" },
  maxAttempts: 1,
});
const StreamName = "orders";
const ShardId = "shardId-000000000000";
const text = (data) => Buffer.from(data).toString();

const create = () => client.send(new CreateStreamCommand({ StreamName, ShardCount: 1 }));
const put = (data) =>
  client.send(new PutRecordCommand({ StreamName, PartitionKey: "k", Data: Buffer.from(data) }));
const split = () =>
  client.send(
    new SplitShardCommand({
      StreamName,
      ShardToSplit: ShardId,
      NewStartingHashKey: (2n ** 127n).toString(),
    }),
  );

async function position(ShardIteratorType = "TRIM_HORIZON") {
  const input = { StreamName, ShardId, ShardIteratorType };
  return (await client.send(new GetShardIteratorCommand(input))).ShardIterator;
}

const read = (ShardIterator) => client.send(new GetRecordsCommand({ ShardIterator }));

async function subscribe(abortSignal) {
  const summary = await client.send(new DescribeStreamSummaryCommand({ StreamName }));
  const { StreamARN } = summary.StreamDescriptionSummary;
  const input = { StreamARN, ConsumerName: "js" };
  const { Consumer } = await client.send(new RegisterStreamConsumerCommand(input));
  const StartingPosition = { Type: "TRIM_HORIZON" };
  const command = new SubscribeToShardCommand({
    ConsumerARN: Consumer.ConsumerARN,
    ShardId,
    StartingPosition,
  });
  return (await client.send(command, { abortSignal })).EventStream;
}

const scenarios = {
  async putAndGet() {
    await create();
    const one = await put("one");
    const Records = ["two", "three"].map((each) => ({
      PartitionKey: "k",
      Data: Buffer.from(each),
    }));
    const batch = await client.send(new PutRecordsCommand({ StreamName, Records }));
    const answer = await read(await position());
    return {
      shard: one.ShardId,
      failed: batch.FailedRecordCount,
      data: answer.Records.map((record) => text(record.Data)),
      arrival: answer.Records[0].ApproximateArrivalTimestamp.getTime(),
      behind: answer.MillisBehindLatest,
    };
  },

  async largeAnswer() {
    await create();
    await put("x".repeat(900_000));
    return { bytes: (await read(await position())).Records[0].Data.length };
  },

  async subscribe() {
    await create();
    const stop = new AbortController();
    const events = await subscribe(stop.signal);
    await put("one");
    const seen = [];
    for await (const { SubscribeToShardEvent: event } of events) {
      seen.push(...event.Records.map((record) => text(record.Data)));
      if (seen.length === 1) await put("two");
      if (seen.length === 2) break;
    }
    stop.abort();
    return { data: seen };
  },

  async endOfShard() {
    await create();
    await put("one");
    await split();
    const polled = await read(await position());
    let last;
    for await (const { SubscribeToShardEvent: event } of await subscribe()) last = event;
    return {
      iterator: polled.NextShardIterator ?? null,
      polledChildren: polled.ChildShards.map((child) => child.ShardId),
      pushedChildren: last.ChildShards.map((child) => child.ShardId),
    };
  },

  async throttling() {
    await create();
    const iterator = await position();
    const outcomes = [];
    for (let call = 0; call < 7; call += 1) {
      try {
        await read(iterator);
        outcomes.push("ok");
      } catch (error) {
        outcomes.push(error.name);
      }
    }
    return { outcomes };
  },

  // What each broken subscription looks like: the fault is set before.
  async brokenSubscription() {
    await create();
    const seen = [];
    try {
      const events = await subscribe();
      await put("one");
      for await (const { SubscribeToShardEvent: event } of events) seen.push(event.Records.length);
      return { seen, end: "clean" };
    } catch (error) {
      return { seen, end: `${error.name} ${error.code ?? ""} ${error.message}` };
    }
  },
};

console.log(JSON.stringify(await scenarios[scenario]()));
process.exit(0); // a broken subscription leaves its connection open
