//! Nothing from outside runs: texts that come with a clone, from an agent or from a program are compared, shown and recorded,
//! and never code. `server/docs/outside_text.md` lists the texts and the places.

mod hooks;
mod programs;
mod settings;
mod shown;
