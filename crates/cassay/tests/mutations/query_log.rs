//! Records of a full query log that a real node wrote, and the header of its file.

use crate::corpus::Texts;
use flate2::read::GzDecoder;
use query_log::chronicle_file::Queue;
use std::io::Read;
use std::sync::Arc;
use workload::Stage;

/// Returns the last records of a query log as separate texts, and the start of the log's file.
pub fn texts() -> Texts {
    let packed = include_bytes!("../../../query_log/fixtures/full-query-log.cq4.gz");
    let mut log = Vec::new();
    GzDecoder::new(&packed[..]).read_to_end(&mut log).expect("a whole fixture");
    let mut queue = Queue::open(&log[..]).expect("a queue");
    let mut texts = vec![("head", log[..200].to_vec())];
    while let Ok(Some(document)) = queue.next_document() {
        let name = if document.windows(7).any(|part| part == b"queries") {
            "batch"
        } else {
            "single"
        };
        texts.push((name, document.to_vec()));
    }
    texts.push((
        "audit",
        b"user:a|timestamp:1|type:SELECT|ks:k|operation:SELECT * FROM t".to_vec(),
    ));
    texts.split_off(texts.len() - 40)
}

/// Reads a record. For a whole file, also builds the program that replays the file.
pub fn read(bytes: &[u8]) {
    let mut builder = query_log::Builder::new(query_log::Choice::default());
    if let Ok(entry) = query_log::log_record::read(bytes) {
        builder.push(entry);
    }
    if let Ok(mut queue) = Queue::open(bytes) {
        while let Ok(Some(document)) = queue.next_document() {
            drop(query_log::log_record::read(document));
        }
    }
    if let Ok(recording) = builder.finish(Vec::new()) {
        let program = Arc::new(query_log::program(&Arc::new(recording), "log", &[]));
        program.fingerprint_of(Stage::Main, 2);
    }
}
