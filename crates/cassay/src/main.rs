//! The program, which only calls the library.

fn main() -> std::process::ExitCode {
    cassay::main()
}
