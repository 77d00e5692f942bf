//! Tests that the details of the rules make sense without other text.

use super::*;

/// Reports show a detail as a reason, without other text. In an earlier version, the sentence "in
/// 10 s it was away for 4.00 s" did not name its subject.
#[test]
fn no_detail_says_it_of_what_it_has_not_named() {
    const PRONOUNS: [&str; 5] = ["it", "its", "they", "them", "their"];
    let named: Vec<&str> =
        "client target data nodes plan study window silence trial operations limit"
            .split(' ')
            .collect();
    let changes = schedule_and_client_cases()
        .into_iter()
        .chain(counting_and_window_cases())
        .chain(target_and_data_cases())
        .map(|(_, change, _)| change);
    let slow = |e: &mut Evidence| {
        e.window.quiet_longest_s = 5.0;
        let mut interval = second(10, 0, &[]);
        (0..50_000).for_each(|_| interval.kinds[0].succeed(false, 4 * SECOND, 4 * SECOND, 1));
        push(&mut e.window, interval);
    };
    let others: [Change; 3] = [
        Box::new(|_| ()),
        Box::new(|e| *e = Evidence::default()),
        Box::new(slow),
    ];
    let mut seen = 0;
    for change in changes.chain(others) {
        let mut evidence = healthy();
        change(&mut evidence);
        for rule in judge(&evidence, &Limits::default()).rules {
            let words: Vec<&str> = rule.detail.split(|c: char| !c.is_alphabetic()).collect();
            let Some(at) = words.iter().position(|word| PRONOUNS.contains(word)) else {
                continue;
            };
            seen += 1;
            let has_name = words[..at].iter().any(|word| named.contains(word));
            assert!(has_name, "{}: {}", rule.id, rule.detail);
        }
    }
    assert!(seen > 0);
}
