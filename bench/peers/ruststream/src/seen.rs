//! Prints what was seen, a line per record, and knows when it is everything.

use std::collections::HashSet;
use std::io::{BufWriter, Stdout, Write, stdout};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

static SEEN: OnceLock<Seen> = OnceLock::new();

pub struct Seen {
    count: usize,
    state: Mutex<State>,
}

struct State {
    sequence_numbers: HashSet<String>,
    out: BufWriter<Stdout>,
}

/// Says how many different records are everything. Called once, before `seen`.
pub fn expect(count: usize) {
    let state = State {
        sequence_numbers: HashSet::new(),
        out: BufWriter::new(stdout()),
    };
    let fresh = SEEN.set(Seen {
        count,
        state: Mutex::new(state),
    });
    assert!(fresh.is_ok(), "expect is called once");
}

pub fn seen() -> &'static Seen {
    SEEN.get().expect("expect is called first")
}

impl Seen {
    pub fn record(&self, sequence: &str, key: &str) {
        let mut state = self.state.lock().expect("no panic while printing");
        writeln!(state.out, "{sequence} {key}").expect("standard output is open");
        state.sequence_numbers.insert(sequence.to_owned());
    }

    pub fn flush(&self) {
        let mut state = self.state.lock().expect("no panic while printing");
        state.out.flush().expect("standard output is open");
    }

    fn is_complete(&self) -> bool {
        let state = self.state.lock().expect("no panic while printing");
        state.sequence_numbers.len() >= self.count
    }

    /// Resolves once everything was seen; flushes what was printed now and then.
    pub async fn everything(&self) {
        while !self.is_complete() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.flush();
        }
    }
}
