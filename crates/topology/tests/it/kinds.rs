//! Tests machines with several kinds of cores, as each source describes them.

use topology::{
    CoreKind, CpuSet, Machine, PlacementRequest, plan,
    test_machines::{Counts, Numbering, Shape},
};

fn list(text: &str) -> CpuSet {
    CpuSet::parse_list(text).expect("a list")
}

#[test]
fn fast_cores_are_given_out_before_slow_ones() {
    let mut shape = Shape::regular(Counts(1, 1, 1, 8, 1), Numbering::Block, 64);
    for cpu in &mut shape.cpus {
        cpu.capacity = Some(if cpu.os < 4 { 512 } else { 1024 });
    }
    let machine = shape.machine().unwrap();
    assert_eq!(machine.cores[0].kind, CoreKind::Efficiency);
    assert_eq!(
        plan(&machine, &PlacementRequest::new(1, 4)).unwrap().instances[0].cpus,
        [4, 5, 6, 7]
    );
    let mixed = plan(&machine, &PlacementRequest::new(1, 6)).unwrap();
    assert!(
        mixed.warnings.iter().any(|text| text.contains("slower")),
        "{:?}",
        mixed.warnings
    );
}

fn kinds(machine: &Machine) -> [CpuSet; 3] {
    let of = |kind: CoreKind| {
        let cores = machine.cores.iter().filter(|core| core.kind == kind);
        let pus = cores.flat_map(|core| &core.pus);
        pus.map(|&pu| machine.pus[pu].os).collect()
    };
    [
        CoreKind::Performance,
        CoreKind::Efficiency,
        CoreKind::Uniform,
    ]
    .map(of)
}

#[test]
fn kinds_of_cores_differ_by_frequency_and_favoured_cores_do_not() {
    let shape = |khz: fn(u32) -> u64| {
        let mut shape = Shape::regular(Counts(1, 1, 1, 8, 1), Numbering::Block, 64);
        for cpu in &mut shape.cpus {
            cpu.max_khz = Some(khz(cpu.os));
        }
        shape
    };
    let laptop = shape(|cpu| match cpu {
        0..=2 => 4_800_000,
        3 => 5_000_000,
        _ => 3_900_000,
    });
    let hybrid = [list("0-3"), list("4-7"), list("")];
    assert_eq!(kinds(&laptop.machine().unwrap()), hybrid);
    let server = shape(|cpu| if cpu == 3 { 3_700_000 } else { 3_500_000 });
    assert_eq!(
        kinds(&server.machine().unwrap()),
        [list(""), list(""), list("0-7")]
    );

    // This is an ARM server whose kernel reports a different capacity for each fast core.
    let mut arm = shape(|_| 3_000_000);
    for cpu in &mut arm.cpus {
        cpu.capacity = Some(if cpu.os < 4 { 1024 - 13 * cpu.os } else { 718 });
    }
    assert_eq!(kinds(&arm.machine().unwrap()), hybrid);
}

#[test]
fn kinds_of_cores_are_read_from_xml_and_lscpu_too() {
    let hybrid = [list("0-3"), list("4-7"), list("")];
    let uniform = [list(""), list(""), list("0-7")];
    let shape = Shape::regular(Counts(1, 1, 1, 8, 1), Numbering::Block, 64);
    let read = |kinds: String| {
        let xml = shape.xml().replace("</topology>", &format!("{kinds}</topology>"));
        Machine::from_bytes(xml.as_bytes(), "kinds.xml").unwrap()
    };
    // The XML has a kind for each value of a measure, and a rank for each kind, as hwloc writes
    // them.
    let told =
        |name: &str, values: [&str; 3]| {
            let kinds = ["0xf0", "0x0e", "0x01"].iter().zip(values).enumerate().map(
                |(rank, (cpus, value))| {
                    let info = format!("<info name=\"{name}\" value=\"{value}\"/>");
                    let forced = match name {
                        "LinuxCapacity" => format!(" forced_efficiency=\"{rank}\""),
                        _ => String::new(),
                    };
                    format!("<cpukind cpuset=\"{cpus}\"{forced}>{info}</cpukind>")
                },
            );
            kinds.collect::<String>()
        };
    for (name, values, expected) in [
        ("LinuxCapacity", ["718", "997", "1024"], &hybrid),
        ("FrequencyMaxMHz", ["3900", "4800", "5000"], &hybrid),
        ("FrequencyMaxMHz", ["4800", "4800", "5000"], &uniform),
        ("CoreType", ["IntelAtom", "IntelCore", "IntelCore"], &hybrid),
    ] {
        assert_eq!(&kinds(&read(told(name, values))), expected, "{values:?}");
    }
    // If the XML states no measure, the order of the kinds is their rank.
    let order = "<cpukind cpuset=\"0xf0\"/><cpukind cpuset=\"0x0f\"/>".to_owned();
    assert_eq!(kinds(&read(order)), hybrid);

    let row = |cpu: u32| {
        let mhz = if cpu < 4 {
            5000.0 - f64::from(cpu)
        } else {
            3900.0
        };
        format!(r#"{{"cpu":{cpu},"node":0,"socket":0,"core":{cpu},"maxmhz":"{mhz:.4}"}}"#)
    };
    let rows: Vec<String> = (0..8).map(row).collect();
    let table = format!(r#"{{"cpus":[{}]}}"#, rows.join(","));
    let machine = Machine::from_bytes(table.as_bytes(), "lscpu").unwrap();
    assert_eq!(kinds(&machine), hybrid);
}
