//! Prints the sizes of the crates, and the largest cycle of files in each.

use crate::modules::Modules;
use crate::tree::Tree;
use anyhow::Result;
use clap::Args;

/// Options of `cargo xtask sizes`.
#[derive(Args)]
pub struct Options {
    /// List the import cycles of files in this crate, with the imports that cause them
    #[arg(value_name = "CRATE")]
    crate_name: Option<String>,
}

/// Prints the number of lines without tests and the largest cycle of files, for each crate.
pub fn run(options: &Options) -> Result<()> {
    let tree = Tree::read()?;
    if let Some(name) = &options.crate_name {
        list(&Modules::read(&tree, name));
        return Ok(());
    }
    let mut sum = 0;
    println!("crate       lines  largest cycle of files");
    for name in tree.crates() {
        let modules = Modules::read(&tree, &name);
        let circle = modules.circles().first().map_or(1, Vec::len);
        println!("{name:<10} {:>6}  {circle:>6}", modules.lines_count());
        sum += modules.lines_count();
    }
    println!("all        {sum:>6}");
    Ok(())
}

fn list(modules: &Modules) {
    for circle in modules.circles() {
        println!("{} files:", circle.len());
        for (from, to, name) in modules.arrows() {
            if circle.contains(&from) && circle.contains(&to) {
                println!("  {from} -> {to}  {name}");
            }
        }
    }
}
