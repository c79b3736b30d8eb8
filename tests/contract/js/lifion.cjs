// lifion-kinesis against the local Kinesis:
// `node -r ./dns.cjs lifion.cjs KINESIS DYNAMODB COUNT MODE [GROUP]`, where MODE is "polling" or "fan-out". Prints the data of each record, one a line, until it has
// seen COUNT different ones.
const Kinesis = require("lifion-kinesis");

const [kinesis, dynamodb, count, mode, group = "contract"] = process.argv.slice(2);
const common = { region: "us-east-1", accessKeyId: "local", secretAccessKey: "local" };
const reader = new Kinesis({
  ...common,
  endpoint: kinesis,
  streamName: "orders",
  consumerGroup: group,
  dynamoDb: { ...common, endpoint: dynamodb },
  initialPositionInStream: "TRIM_HORIZON",
  leaseAcquisitionInterval: 500,
  maxEnhancedConsumers: 2,
  noRecordsPollDelay: 250,
  shouldParseJson: false,
  useEnhancedFanOut: mode === "fan-out",
  logger: { error: (...words) => console.error(...words) },
});

const seen = new Set();
reader.on("data", ({ records }) => {
  for (const record of records) {
    console.log(record.data.toString());
    seen.add(record.data.toString());
  }
  // Not at once: what a full pipe has not taken yet would be lost.
  if (seen.size >= Number(count)) process.stdout.write("", () => process.exit(0));
});
reader.on("error", (error) => console.error(error));
reader.startConsumer();
