//! Limits of one evaluation: time, steps, memory and nesting. An evaluation has a thread of its own; where it exceeds a
//! limit, the thread unwinds without a message, and `try` in jq cannot catch that.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Evaluated terms. Enough for some hundred thousand lines of input, and few enough that the release of any chain that
/// they build fits the stack.
const MAX_STEPS: u32 = 500_000;
/// Bytes of all values that are made, together.
const MAX_BYTES: u64 = 128 << 20;
/// Arrays and objects within one another.
pub const MAX_DEPTH: u32 = 1000;
/// Size of one value as text, at least. Parts that are shared count each time, as they do in a comparison or in JSON.
pub const MAX_WEIGHT: u64 = 64 << 20;
/// Stack of an evaluation. Pages are used only where it reaches them.
const STACK: usize = 512 << 20;
/// The part of it that terms within one another may use. The rest is for the release of what they have made.
const MAX_STACK_USED: usize = 64 << 20;
/// Units of work between two looks at the clock.
const CLOCK_INTERVAL: u32 = 64;

/// The limit that an evaluation exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exceeded {
    Time,
    Steps,
    Memory,
    Nesting,
}

impl Exceeded {
    fn reason(self, time: Duration) -> String {
        match self {
            Self::Time => format!("it did not end within {} ms", time.as_millis()),
            Self::Steps => format!("it took more than {MAX_STEPS} steps"),
            Self::Memory => format!("it needed more than {} MiB", MAX_BYTES >> 20),
            Self::Nesting => "its values or calls are nested too deeply".to_owned(),
        }
    }
}

#[derive(Clone, Copy)]
struct Meter {
    deadline: Instant,
    steps: u32,
    work: u32,
    bytes: u64,
    /// Address of a variable at the bottom of the stack.
    bottom: usize,
}

thread_local! {
    static METER: Cell<Option<Meter>> = const { Cell::new(None) };
}

/// Runs `work` on a thread of its own under all limits. Err: the reason why there is no result.
pub fn limited<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = sync_channel(1);
    let run = move || {
        let bottom = 0u8;
        METER.set(Some(Meter {
            deadline: Instant::now() + time,
            steps: 0,
            work: 0,
            bytes: 0,
            bottom: std::ptr::from_ref(&bottom).addr(),
        }));
        let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            Err(panic
                .downcast_ref::<Exceeded>()
                .map_or("an internal error".to_owned(), |limit| limit.reason(time)))
        });
        // nobody listens any more if this comes too late
        let _ = sender.send(result);
    };
    let thread = std::thread::Builder::new()
        .name("jq".to_owned())
        .stack_size(STACK);
    if let Err(error) = thread.spawn(run) {
        return Err(format!("no thread for it: {error}"));
    }
    receiver.recv_timeout(time).unwrap_or_else(|error| {
        Err(match error {
            RecvTimeoutError::Timeout => Exceeded::Time.reason(time),
            RecvTimeoutError::Disconnected => "an internal error".to_owned(),
        })
    })
}

fn stop(limit: Exceeded) -> ! {
    resume_unwind(Box::new(limit))
}

fn metered(measure: impl FnOnce(&mut Meter)) {
    if let Some(mut meter) = METER.get() {
        measure(&mut meter);
        METER.set(Some(meter));
    }
}

/// Counts the evaluation of a term.
pub fn step() {
    let top = 0u8;
    let top = std::ptr::from_ref(&top).addr();
    metered(|meter| {
        meter.steps += 1;
        if meter.steps > MAX_STEPS {
            stop(Exceeded::Steps);
        }
        if meter.bottom.abs_diff(top) > MAX_STACK_USED {
            stop(Exceeded::Nesting);
        }
    });
    work();
}

/// Counts a unit of work within a term: a comparison, an element.
pub fn work() {
    metered(|meter| {
        meter.work = meter.work.wrapping_add(1);
        if meter.work.is_multiple_of(CLOCK_INTERVAL) && Instant::now() > meter.deadline {
            stop(Exceeded::Time);
        }
    });
}

/// Counts memory before it is allocated.
pub fn allocate(bytes: u64) {
    metered(|meter| {
        meter.bytes = meter.bytes.saturating_add(bytes);
        if meter.bytes > MAX_BYTES {
            stop(Exceeded::Memory);
        }
    });
}

/// Checks the size of a value.
pub fn check_size(weight: u64, depth: u32) {
    metered(|_| {
        if weight > MAX_WEIGHT {
            stop(Exceeded::Memory);
        }
        if depth > MAX_DEPTH {
            stop(Exceeded::Nesting);
        }
    });
}
