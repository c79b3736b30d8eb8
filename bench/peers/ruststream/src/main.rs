//! Reads a stream with ruststream-kinesis until it has seen so many records.
//!
//! Arguments: KINESIS DYNAMODB STREAM COUNT MODE APPLICATION; it polls, and keeps its leases in
//! memory.

mod seen;

use std::time::Duration;

use ruststream_kinesis::prelude::*;
use ruststream_kinesis::{PARTITION_KEY_HEADER, SEQUENCE_HEADER};

use crate::seen::seen;

/// The payload as it came: no codec looks at it.
#[derive(Deserialized)]
#[expect(dead_code, reason = "what is printed is in the headers")]
struct Payload<'a>(&'a [u8]);

fn argument(number: usize) -> String {
    std::env::args()
        .nth(number)
        .expect("KINESIS DYNAMODB STREAM COUNT MODE APPLICATION")
}

#[subscriber(
    KinesisStream::new(argument(3)).poll_interval(Duration::from_millis(250)),
    start_at(KinesisPosition::horizon())
)]
async fn print(_payload: &Payload<'_>, ctx: &mut Context<'_>) -> HandlerOutcome {
    let headers = ctx.headers();
    let (Some(key), Some(sequence)) = (
        headers.get_str(PARTITION_KEY_HEADER),
        headers.get_str(SEQUENCE_HEADER),
    ) else {
        return HandlerOutcome::drop();
    };
    seen().record(sequence, key);
    HandlerOutcome::ack()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count = argument(4).parse()?;
    seen::expect(count);
    let broker = KinesisBroker::new()
        .endpoint(argument(1))
        .region("us-east-1")
        .test_credentials();
    RustStream::new(AppInfo::new("peer", "0.0.0"))
        .with_broker(broker, |b| {
            b.include(print);
        })
        .run_until(seen().everything())
        .await?;
    seen().flush();
    Ok(())
}
