//! The program: it only calls the library.

fn main() -> std::process::ExitCode {
    cassay::main()
}
