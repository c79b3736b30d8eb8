"""The CloudWatch metrics that tell how a consumer does, each with its dimensions.

The CDK has no helpers for a mapping's and a stream consumer's metrics. Sources: Lambda Developer
Guide, "Types of metrics for Lambda functions"; Kinesis Developer Guide, "Monitoring the Amazon
Kinesis Data Streams service with Amazon CloudWatch".

A ``label`` names the line in a graph. An alarm's metric has none: with one, CloudFormation gets it
as an expression over metrics instead of a plain name with dimensions.
"""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

PERIOD = Duration.minutes(1)
"""Both services send a value a minute; a longer period would hide a peak."""
BATCH_NAMESPACE = "Shardlane"
"""Under which a ``KeyedBatchProcessor`` writes what became of its records, and a long-running
consumer how it does."""


def mapping_metric(
    name: str, mapping_id: str, *, label: str | None = None, statistic: str = "Sum"
) -> cloudwatch.Metric:
    """One of the event counts that MetricsConfig EventCount switches on. The dimension is the
    mapping's UUID alone."""
    dimensions = {"EventSourceMappingUUID": mapping_id}
    return _metric("AWS/Lambda", name, dimensions, statistic, label)


def function_metric(
    name: str, function_name: str, *, label: str | None = None, statistic: str = "Sum"
) -> cloudwatch.Metric:
    return _metric("AWS/Lambda", name, {"FunctionName": function_name}, statistic, label)


def iterator_age(function_name: str, *, label: str | None = None) -> cloudwatch.Metric:
    """Milliseconds: how old a batch is when the function gets it. There is a value only when the
    function is invoked, for both kinds of source."""
    return function_metric("IteratorAge", function_name, label=label, statistic="Maximum")


def stream_metric(
    name: str, stream_name: str, *, label: str | None = None, statistic: str = "Sum"
) -> cloudwatch.Metric:
    return _metric("AWS/Kinesis", name, {"StreamName": stream_name}, statistic, label)


def stream_consumer_metric(
    name: str,
    stream_name: str,
    consumer_name: str,
    *,
    label: str | None = None,
    statistic: str = "Sum",
) -> cloudwatch.Metric:
    """Of an enhanced fan-out consumer, under both its names: the same metric has no values under
    the stream's alone."""
    dimensions = {"StreamName": stream_name, "ConsumerName": consumer_name}
    return _metric("AWS/Kinesis", name, dimensions, statistic, label)


def behind_latest(
    stream_name: str, consumer_name: str, *, label: str | None = None
) -> cloudwatch.Metric:
    """Milliseconds that an enhanced fan-out consumer is behind: the only place where this shows
    while its function is not invoked."""
    return stream_consumer_metric(
        "SubscribeToShardEvent.MillisBehindLatest",
        stream_name,
        consumer_name,
        label=label,
        statistic="Maximum",
    )


def queue_metric(
    name: str, queue_name: str, *, label: str | None = None, statistic: str = "Maximum"
) -> cloudwatch.Metric:
    return _metric("AWS/SQS", name, {"QueueName": queue_name}, statistic, label)


def batch_metric(
    name: str, consumer: str, *, label: str | None = None, statistic: str = "Sum"
) -> cloudwatch.Metric:
    """One that the processor writes itself (``shardlane.batch_metrics``); the dimension is the
    consumer's name in its parking lot."""
    return _metric(BATCH_NAMESPACE, name, {"consumer": consumer}, statistic, label)


def worker_metric(
    name: str, stream_name: str, application: str, *, label: str | None = None, statistic: str
) -> cloudwatch.Metric:
    """One that a long-running consumer writes (``shardlane.consumer.EmbeddedMetricStats``)."""
    dimensions = {"StreamName": stream_name, "Application": application}
    return _metric(BATCH_NAMESPACE, name, dimensions, statistic, label)


def own_metric(
    namespace: str, name: str, dimensions: dict[str, str], *, label: str, statistic: str
) -> cloudwatch.Metric:
    """One that the function writes itself, in the embedded metric format."""
    return _metric(namespace, name, dimensions, statistic, label)


def _metric(
    namespace: str, name: str, dimensions: dict[str, str], statistic: str, label: str | None
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map=dimensions,
        statistic=statistic,
        period=PERIOD,
        label=label,
    )
