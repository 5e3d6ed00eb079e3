//! Commands about breakpoints and held calls.

pub mod back;
pub mod breakpoint;
pub mod debug;
mod decide;
pub mod deny;
mod held_text;
pub mod inject;
pub mod inspect;
pub mod pause;
pub mod pauses;
pub mod repl;
pub mod resume;
pub mod skip;
pub mod step;
pub mod stop;
