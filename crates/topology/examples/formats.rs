//! Writes plans of several machines in every format into a folder. Validators of the formats read
//! these files. Usage: `cargo run -p topology --example formats -- FOLDER`.

use std::error::Error;
use std::path::PathBuf;

use topology::{
    Housekeeping, HugePages, PlacementRequest, Profile,
    export::{FORMATS, Options, Source, export},
    plan,
    test_machines::{Counts, Numbering, Shape},
};

/// Name that would end a quote, a line or a comment, or that a tool would expand, if a format did
/// not escape it.
const HOSTILE: &str =
    "a'b\"c\\ $(touch x) `id` %n |22 --> \n[Service]\nExecStart=/bin/false ü#;&<$$";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("name a folder")?);
    std::fs::create_dir_all(&folder)?;
    let xeon = Shape::xeon_2x28(Numbering::RoundRobin);
    let epyc = Shape::epyc_7601();
    let many = Shape::regular(Counts(2, 12, 1, 8, 2), Numbering::Block, 64);
    for (name, shape, instances, vcpus) in [
        ("xeon", &xeon, 8, 12),
        ("epyc", &epyc, 4, 28),
        ("socket", &epyc, 2, 56),
        ("many", &many, 3, 112),
        (HOSTILE, &xeon, 4, 24),
    ] {
        for profile in [
            Profile::Pinned,
            Profile::Vsphere7,
            Profile::Vsphere8,
            Profile::None,
        ] {
            let mut machine = shape.machine()?;
            for node in &mut machine.nodes {
                node.hugepages.push(HugePages {
                    page_bytes: 1 << 30,
                    count: 64,
                    free: None,
                });
            }
            let wish = PlacementRequest {
                profile,
                memory_bytes: Some(32 << 30),
                housekeeping: Housekeeping::PerNode(1),
                host: format!("{profile:?}-{name}"),
                ..PlacementRequest::new(instances, vcpus)
            };
            let mut plan = plan(&machine, &wish)?;
            plan.rack = name.to_owned();
            let options = Options {
                topoext: true,
                ..Options::default()
            };
            let source = Source {
                machine: &machine,
                plan: &plan,
                options: &options,
            };
            for format in &FORMATS {
                for file in export(&source, format)? {
                    std::fs::write(folder.join(file.file), file.text)?;
                }
            }
        }
    }
    Ok(())
}
