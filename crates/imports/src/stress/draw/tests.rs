//! Tests that draws equal those of cassandra-stress, and that the parser refuses texts that are not
//! distributions.

use super::*;

/// Output of org.apache.cassandra.stress.settings.OptionDistribution of 3.11.4. Each entry has the
/// average, and the first eight values for seed 42.
#[rustfmt::skip]
const DRAW_CASES: [(&str, i64, [i64; 8]); 13] = [
    ("uniform(1..100)", 50, [73, 69, 31, 28, 67, 91, 37, 28]),
    ("uniform(20..40)", 30, [35, 34, 26, 25, 33, 38, 27, 25]),
    ("uniform(1..4)", 2, [3, 3, 2, 2, 3, 4, 2, 2]),
    ("gaussian(1..20)", 10, [14, 13, 7, 6, 11, 12, 7, 6]),
    ("gaussian(1..1000)", 500, [690, 653, 342, 316, 547, 614, 364, 267]),
    ("gaussian(1..100,50,5)", 49, [55, 54, 45, 44, 51, 53, 45, 43]),
    ("exp(1..1000)", 284, [132, 107, 269, 232, 96, 56, 358, 279]),
    ("extreme(1..1000,0.5)", 151, [142, 111, 12, 9, 101, 458, 18, 9]),
    ("~exp(1..100)", 61, [81, 85, 61, 66, 86, 92, 47, 59]),
    ("seq(1..100)", 50, [43, 44, 45, 46, 47, 48, 49, 50]),
    ("gaussian(1..100,2)", 50, [78, 73, 26, 23, 57, 67, 30, 15]),
    ("extreme(1..1M,2)", 341039,
        [433872, 407941, 231190, 216725, 398191, 581635, 258084, 216110]),
    ("uniform(1..100B)", 49999994975,
        [72756368004, 68322347176, 30871945534, 27707849008,
         66554895180, 90337226468, 36878291342, 27574806945]),
];

#[test]
fn values_and_averages_are_cassandra_stress_s() {
    for (text, average, values) in DRAW_CASES {
        let mut dist = Dist::parse(text).expect(text);
        dist.set_seed(42);
        assert_eq!(values.map(|_| dist.next()), values, "{text}");
        assert_eq!(dist.average(), average, "{text}");
    }
}

#[test]
fn averages_of_unbounded_curves_are_finite() {
    for text in [
        "gaussian(1..10)",
        "exp(1..10)",
        "extreme(1..10,0.1)",
        "~exp(1..10)",
    ] {
        let average = Dist::parse(text).expect(text).average();
        assert!((1..=10).contains(&average), "{text}: {average}");
    }
}

#[test]
fn a_text_that_is_no_distribution_is_refused_with_the_forms() {
    for text in WRONG {
        assert!(Dist::parse(text).is_err(), "{text}");
    }
    assert!(Dist::parse("zipf(1..5)").expect_err("none").contains("GAUSSIAN(a..b"));
    assert!(Dist::parse("uniform(1...10)").is_ok(), "more dots are fine");
}

#[test]
fn shares_are_between_0_and_1() {
    let mut ratio = Ratio::parse("uniform(1..10)/10").expect("a share");
    ratio.set_seed(1);
    assert!((0..100).all(|_| (0.1..=1.0).contains(&ratio.next())));
    assert!(Ratio::parse("fixed(1)/1").expect("a share").is_one());
    assert!(Ratio::parse("fixed(1)").is_err() && Ratio::parse("fixed(1)/0").is_err());
}

proptest::proptest! {
    #[test]
    fn values_passed_over_are_those_that_would_have_been_drawn(
        which in 0..DRAW_CASES.len(), seed: i64, before in 0..3usize, count in 0..2_000i64
    ) {
        let mut drawn = Dist::parse(DRAW_CASES[which].0).expect("a distribution");
        drawn.set_seed(seed.abs() >> 1);
        for _ in 0..before {
            drawn.next();
        }
        let mut skipped = drawn;
        skipped.skip(count);
        for _ in 0..count {
            drawn.next();
        }
        proptest::prop_assert_eq!(drawn.next(), skipped.next(), "{}", DRAW_CASES[which].0);
    }

    #[test]
    fn no_text_makes_it_panic(
        text in "~?(fixed|uniform|gaussian|exp|extreme|qextreme|seq)\\([0-9kmb.,-]{0,12}\\)"
    ) {
        if let Ok(mut dist) = Dist::parse(&text) {
            dist.set_seed(1);
            let value = dist.next();
            // A sequence may begin below its range, as the expected values above show.
            let value = if text.contains("seq") { dist.min } else { value };
            proptest::prop_assert!((dist.min..=dist.max()).contains(&value), "{text}: {value}");
            dist.average();
            dist.next_double();
        }
    }
}

const WRONG: [&str; 9] = [
    "",
    "fixed",
    "fixed(x)",
    "uniform(5)",
    "uniform(5..1)",
    "zipf(1..5)",
    "exp(1..2,3)",
    "seq(1..1)",
    "uniform(-9223372036854775808..9223372036854775807)",
];

/// Output of org.apache.cassandra.stress.settings.OptionDistribution of 3.11.4. Each line begins
/// with `distribution min max average`. For each of the seeds, four values and the bits of the
/// first value as a double follow.
const DRAWS: &str = include_str!("draws.txt");

#[test]
fn distributions_of_any_arguments_draw_what_the_tool_draws() {
    for line in DRAWS.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let mut dist = Dist::parse(words[0]).expect(words[0]);
        let mut drawn = vec![dist.last().to_string(), dist.average().to_string()];
        for seed in [1, -7, 123_456_789_012] {
            dist.set_seed(seed);
            drawn.extend((0..4).map(|_| dist.next().to_string()));
            dist.set_seed(seed);
            drawn.push(format!("{:x}", dist.next_double().to_bits()));
        }
        assert_eq!(drawn, words[2..], "{}", words[0]);
    }
}
