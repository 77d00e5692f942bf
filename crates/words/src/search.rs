/// What the searches of a variant came to, a sentence each.
pub fn sentences(
    study: &Study,
    variant: &Variant,
    searches: &[SearchRecord],
    trials: &[TrialFinding],
) -> Vec<String> {
    let of = searches.iter().filter(|one| one.variant == variant.name);
    let of: Vec<&SearchRecord> = of.collect();
    let is_exact = |one: &&&SearchRecord| matches!(one.found(), Some(Known::Exactly(_)));
    let exact: Vec<&SearchRecord> = of.iter().filter(is_exact).copied().collect();
    let together = exact.len() > 1;
    let mut said: Vec<(String, Vec<usize>)> = Vec::new();
    for one in of.iter().filter(|one| !(together && is_exact(one))) {
        let words = with_throughput(one);
        match said.iter_mut().find(|(known, _)| *known == words) {
            Some((_, blocks)) => blocks.push(one.block + 1),
            None => said.push((words, vec![one.block + 1])),
        }
    }
    let who = match variant.name.as_str() {
        "-" => String::new(),
        name => format!("“{name}”: "),
    };
    let mut sentences = Vec::new();
    if together {
        sentences.push(format!("{who}{}.", mean_words(&exact)));
    }
    sentences.extend(said.iter().map(|(words, blocks)| match study.blocks() {
        1 => format!("{who}{words}."),
        _ => format!("{who}{words} ({}).", block_words(blocks)),
    }));
    if let Some(words) = expected_words(variant, trials) {
        match sentences.as_mut_slice() {
            // What was found and what is left at a share of it are one answer.
            [one] => *one = format!("{}; {words}.", one.trim_end_matches('.')),
            _ => sentences.push(format!("{who}{words}.")),
        }
    }
    sentences
}

/// The words of a search, with what its number of threads comes to: `8 threads (3,030 op/s)`.
fn with_throughput(search: &SearchRecord) -> String {
    let did = search
        .found_ops_per_s()
        .filter(|_| !search.at.contains_key("rate"));
    let Some(did) = did else {
        return search.words.clone();
    };
    let at = point_words(&search.at);
    let both = format!("{at} ({} op/s)", whole(did.least()));
    search.words.replacen(&at, &both, 1)
}

/// `48,200 op/s (± 2.1 %, mean of 5 searches) is the most with a p99 within 10 ms`, and how sure.
fn mean_words(searches: &[&SearchRecord]) -> String {
    let first = searches[0];
    let mean = |of: &dyn Fn(&SearchRecord) -> Option<Known>| -> Option<(f64, Option<[f64; 2]>)> {
        let logs = searches.iter().map(|one| Some(of(one)?.least().ln()));
        let logs: Option<Vec<f64>> = logs.collect();
        let logs = logs?;
        let interval = series::mean_of_blocks_ci95(&logs);
        Some((series::mean(&logs).exp(), interval))
    };
    let least = searches.iter().filter_map(|one| one.found());
    let least = least.map(Known::least).fold(f64::INFINITY, f64::min);
    // What a search ends with is the grid's point below: that all ended alike is no certainty.
    let half = |[low, high]: [f64; 2]| ((high - low) / 2.0).exp() * grid(least) - 1.0;
    let error = |interval: Option<[f64; 2]>| {
        let half = interval.map(|interval| significant(half(interval) * 100.0, 2));
        half.map_or(String::new(), |half| format!("± {half} %, "))
    };
    let count = searches.len();
    let found = mean(&SearchRecord::found);
    let at = found.map_or(String::new(), |(at, interval)| {
        let axis = first.at.keys().next().map_or("", String::as_str);
        match axis {
            "rate" => format!(
                "{} op/s ({}geometric mean of {count} searches)",
                whole(at),
                error(interval)
            ),
            axis => format!("{} {axis} (geometric mean of {count} searches)", whole(at)),
        }
    });
    let did = mean(&SearchRecord::found_ops_per_s).filter(|_| !first.at.contains_key("rate"));
    let did = did.map_or(String::new(), |(did, interval)| {
        let error = error(interval);
        let error = error.trim_end_matches(", ");
        match error.is_empty() {
            true => format!(", with {} op/s", whole(did)),
            false => format!(", with {} op/s ({error})", whole(did)),
        }
    });
    let held = match first.outcome {
        SearchOutcome::Held => ", each held twice",
        _ => "",
    };
    match first.procedure {
        SearchProcedure::Band => format!("{} at {at}{did}", first.goal),
        _ => format!("{at} is the most with a {}{held}{did}", first.goal),
    }
}

/// `at 70 % of that it did 1,667 op/s at 6 threads with a p99 of 22.1 ms`.
fn expected_words(variant: &Variant, trials: &[TrialFinding]) -> Option<String> {
    let procedure = &variant.settings.procedure;
    let share = procedure.expected()?;
    let of = percentile(procedure);
    let is_expected = |t: &&TrialFinding| {
        t.variant == variant.name && Role::named(&t.role) == Role::Expected && usable(t)
    };
    let of_each: Vec<String> = trials
        .iter()
        .filter(is_expected)
        .map(|trial| {
            let found = found(&variant.settings, trial);
            let ms = found.latency_ms.of(of).value;
            // A rate that was kept up with is what was done.
            let did = match trial.point.contains_key("rate") {
                true => point_words(&trial.point),
                false => format!(
                    "{} op/s at {}",
                    whole(found.ops_per_s),
                    point_words(&trial.point)
                ),
            };
            format!(
                "{did} with a {} of {}{} ms",
                of.words(),
                ms.sign(),
                significant(ms.least(), 3)
            )
        })
        .collect();
    let percent = (share * 1000.0).round() / 10.0;
    (!of_each.is_empty()).then(|| format!("at {percent} % of that it did {}", of_each.join(", ")))
}
