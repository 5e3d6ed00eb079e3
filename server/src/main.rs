//! The binary. Its code is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    backstitch::main()
}
