//! Limits of one evaluation: time, steps, memory and nesting. An evaluation has its own thread; where it exceeds a
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
const MAX_DEPTH: u32 = 1000;
/// Size of one value as text, at least. Parts that are shared count each time, as they do in a comparison or in JSON.
const MAX_WEIGHT: u64 = 64 << 20;
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

/// Use of each limit by this thread. Without a deadline nothing is limited.
struct Meter {
    deadline: Cell<Option<Instant>>,
    steps: Cell<u32>,
    work: Cell<u32>,
    bytes: Cell<u64>,
    /// Address of a variable at the bottom of the stack.
    bottom: Cell<usize>,
}

thread_local! {
    static METER: Meter = const {
        Meter {
            deadline: Cell::new(None),
            steps: Cell::new(0),
            work: Cell::new(0),
            bytes: Cell::new(0),
            bottom: Cell::new(0),
        }
    };
}

/// Runs `work` on its own thread under all limits. Err: the reason why there is no result.
pub fn limited<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = sync_channel(1);
    let run = move || {
        let bottom = 0u8;
        METER.with(|meter| {
            meter.bottom.set(std::ptr::from_ref(&bottom).addr());
            meter.deadline.set(Some(Instant::now() + time));
        });
        let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            Err(panic
                .downcast_ref::<Exceeded>()
                .map_or("an internal error".to_owned(), |limit| limit.reason(time)))
        });
        // nobody listens any longer if this comes too late
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

/// Counts the evaluation of a term.
pub fn step() {
    let top = 0u8;
    let top = std::ptr::from_ref(&top).addr();
    METER.with(|meter| {
        meter.steps.set(meter.steps.get().saturating_add(1));
        if meter.deadline.get().is_none() {
            return;
        }
        if meter.steps.get() > MAX_STEPS {
            stop(Exceeded::Steps);
        }
        if meter.bottom.get().abs_diff(top) > MAX_STACK_USED {
            stop(Exceeded::Nesting);
        }
    });
    work();
}

/// Counts a unit of work within a term: a comparison, an element.
pub fn work() {
    METER.with(|meter| {
        let work = meter.work.get().wrapping_add(1);
        meter.work.set(work);
        let is_time = work.is_multiple_of(CLOCK_INTERVAL);
        if is_time && meter.deadline.get().is_some_and(|end| Instant::now() > end) {
            stop(Exceeded::Time);
        }
    });
}

/// Counts memory before it is allocated.
pub fn allocate(bytes: u64) {
    METER.with(|meter| {
        meter.bytes.set(meter.bytes.get().saturating_add(bytes));
        if meter.bytes.get() > MAX_BYTES && meter.deadline.get().is_some() {
            stop(Exceeded::Memory);
        }
    });
}

/// Checks the size of a value.
pub fn check_size(weight: u64, depth: u32) {
    if weight > MAX_WEIGHT || depth > MAX_DEPTH {
        let is_limited = METER.with(|meter| meter.deadline.get().is_some());
        let limit = if depth > MAX_DEPTH {
            Exceeded::Nesting
        } else {
            Exceeded::Memory
        };
        if is_limited {
            stop(limit);
        }
    }
}
