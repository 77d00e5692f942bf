//! Tests that bindings, operations and files of other scenarios cannot make a run fail. If the run
//! itself contains an unsupported part, a message with a hint must name this part.

use super::imported;
use crate::import_result::StepLimit;

/// A vector workload like NoSQLBench's own. The operation that reads vectors needs a file, but the
/// operation that writes them does not.
const VECTORS: &str = r#"
scenarios:
  default:
    schema: run driver=cql tags==phase:schema threads==1 cycles==UNDEF
    main: run driver=cql tags==phase:main cycles==10
  search:
    ask: run driver=cql tags==phase:search cycles==10
  made:
    make: run driver=cql tags==phase:made cycles==10
  other:
    call: run driver=cql tags==phase:other cycles==10
bindings:
  id: Mod(100); ToString() -> String
  trained: HdfFileToFloatList("sift.hdf5", "/train") -> List
  nowhere: NoSuchFunction(7)
  made: HashedFloatVectors(4)
blocks:
  - tags: {phase: schema}
    statements:
      - make: create table if not exists k.t (id text primary key, v vector<float, 4>)
  - tags: {phase: main}
    statements:
      - put: insert into k.t (id) values ({id})
      - never: insert into k.t (id) values ({nowhere})
        ratio: 0
  - tags: {phase: search}
    statements:
      - ann: select id from k.t order by v ann of {trained} limit 10
  - tags: {phase: made}
    statements:
      - store: insert into k.t (id, v) values ({id}, {made})
  - tags: {phase: other}
    statements:
      - call: {method: GET, uri: http://localhost}
"#;

#[test]
fn a_scenario_is_refused_only_for_its_own_choices() {
    let import = imported(VECTORS, &["default"]).expect("nothing of it needs a file");
    let steps: Vec<_> = import.steps.iter().map(|step| step.limit).collect();
    assert_eq!(steps, [StepLimit::Operations(10)]);
    // An operation of ratio 0 is never executed, so it must not become a kind of operation.
    let kinds: Vec<_> = import.steps[0].program.kinds().iter().map(|k| &k.name).collect();
    assert_eq!(kinds, ["put"]);

    let search = imported(VECTORS, &["search"]).expect_err("a file of vectors");
    assert!(search.contains("file.yaml:14:"), "{search}");
    assert!(
        search.contains("HdfFileToFloatList reads a file of vectors"),
        "{search}"
    );
    let other = imported(VECTORS, &["other"]).expect_err("no CQL");
    assert!(other.contains("operation call"), "{other}");
    let never = VECTORS.replace("ratio: 0", "ratio: 1");
    let never = imported(&never, &["default"]).expect_err("a function that is not there");
    assert!(never.contains("NoSuchFunction is unknown"), "{never}");
}

#[test]
fn every_reader_of_vectors_is_named_with_a_way_out_that_is_one() {
    for reader in [
        "HdfFileToFloatList(\"sift.hdf5\", \"/train\")",
        "HdfFileToFloatArray(\"sift.hdf5\", \"/train\")",
        "HdfDatasetToVectors(\"sift.hdf5\", \"/train\")",
        "FVecReader(\"sift.fvec\")",
        "BVecToFloatReader(\"sift.bvec\")",
        "DNN_euclidean_v(100, 100, 4)",
    ] {
        let text = VECTORS.replace("HdfFileToFloatList(\"sift.hdf5\", \"/train\")", reader);
        let name = reader.split('(').next().expect("a name");
        let said = imported(&text, &["search"]).expect_err(reader);
        for part in [name, "HashedFloatVectors(DIMENSIONS)", "nb FILE SCENARIO"] {
            assert!(said.contains(part), "{reader}: {said}");
        }
        // Both alternatives must work. One is a scenario without the file, and the other is
        // generated vectors.
        assert!(imported(&text, &["default"]).is_ok(), "{reader}");
        let text = text.replace(&format!("{reader} -> List"), "HashedFloatVectors(4)");
        assert!(imported(&text, &["search"]).is_ok(), "{reader}");
    }
    assert!(imported(VECTORS, &["made"]).is_ok());
}
