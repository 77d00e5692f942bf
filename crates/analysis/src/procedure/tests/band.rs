//! Tests the band procedure, which approaches the band from below and from above.

use super::*;

#[test]
fn a_band_is_approached_from_either_side_and_halved_into() {
    let check = |from, step, band: [f64; 2], expected: Expect| {
        let [least_ms, most_ms] = band;
        let band = Band {
            from,
            step,
            least_ms,
            most_ms,
            ..BAND
        };
        let (seen, answer) = go_on(&band, &CALM, 0, Vec::new());
        let values: Vec<f64> = seen.iter().map(|trial| trial.point.value()).collect();
        expected.assert_eq(&format!("{values:?}\n{}\n", answer.words()));
    };
    let wide = [50.0, 100.0];
    check(
        300,
        50,
        wide,
        expect![[r#"
        [300.0, 250.0]
        p99 was within 50 to 100 ms at 250 threads
    "#]],
    );
    check(
        30,
        50,
        wide,
        expect![[r#"
        [30.0, 80.0, 130.0, 180.0]
        p99 was within 50 to 100 ms at 180 threads
    "#]],
    );
    check(
        300,
        50,
        [56.0, 60.0],
        expect![[r#"
        [300.0, 250.0, 200.0, 150.0]
        p99 was within 56 to 60 ms at 150 threads
    "#]],
    );
    check(
        300,
        50,
        [56.2, 56.24],
        expect![[r#"
        [300.0, 250.0, 200.0, 150.0, 100.0, 125.0, 137.0, 143.0, 146.0, 148.0]
        p99 was never within 56.2 to 56.24 ms: below at 148 threads, above at 150 threads
    "#]],
    );
    check(
        300,
        50,
        [200.0, 300.0],
        expect![[r#"
        [300.0, 350.0, 400.0]
        p99 was never within 200 to 300 ms: below at 400 threads
    "#]],
    );
    check(
        90,
        50,
        [1.0, 5.0],
        expect![[r#"
        [90.0, 40.0, 1.0]
        p99 was never within 1 to 5 ms: above at 1 thread
    "#]],
    );
}
