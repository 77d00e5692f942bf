//! What was broken on purpose, on the page: its table, and its stretch of every chart.

use crate::fixture;
use report::{Block, page, text};
use store::record::FaultRecord;

#[test]
fn a_fault_has_a_row_with_its_evidence_and_a_band_on_the_course() {
    let mut view = fixture::run(1);
    let fault = FaultRecord {
        kind: "node-pause".into(),
        verdict: "confirmed".into(),
        evidence: "seen: the kernel calls its process T".into(),
        trial: Some(0),
        place: "node2".into(),
        injected_s: Some(12.0),
        seen_s: Some(13.5),
        healing_s: Some(22.0),
        whole_s: Some(22.25),
        ..FaultRecord::default()
    };
    view.findings.trials[0].faults.push(fault.clone());
    // One of a run of an earlier version.
    let old = FaultRecord {
        kind: "node-stop".into(),
        verdict: "mismatch".into(),
        ..FaultRecord::default()
    };
    view.findings.faults = vec![fault, old];
    let page = page(&view);
    let said = text(&page);
    for part in [
        "node-pause of",
        "confirmed",
        "12.0",
        "1.50",
        "10.0",
        "0.250",
        "process T",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    assert!(said.contains("node-stop"), "{said}");
    let section = page.sections.iter().find(|section| section.id == "time");
    let blocks = &section.expect("the course").blocks;
    let Some(Block::Choice(_, charts)) = blocks.first() else {
        panic!("a chart for each trial")
    };
    let bands = |index: usize| {
        let bands = charts[index].1.bands.iter();
        let mut bands = bands.filter(|band| band.label == "node-pause of node2");
        bands.next().map(|band| (band.from, band.to))
    };
    assert_eq!(bands(0), Some((12.0, 22.25)));
    assert_eq!(bands(1), None, "of another trial");
}
