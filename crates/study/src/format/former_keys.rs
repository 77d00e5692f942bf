//! Reads keys by the names that they had in earlier versions of cassay.

use yaml::{Node, Raw};

/// Former paths of keys, each with the last part of the present path.
const FORMER: [(&str, &str); 1] = [("require.untold", "inconclusive")];

/// Renames all former keys in a study, also in its variants, axes and scales. A mapping that
/// already has the present key does not change, so the check refuses its former key.
pub fn rename(study: &mut Node) {
    rename_below(study, "");
}

fn rename_below(node: &mut Node, path: &str) {
    let Raw::Map(entries) = &mut node.raw else {
        return;
    };
    let keys: Vec<String> = entries.iter().map(|entry| entry.key.clone()).collect();
    for entry in entries {
        let whole = if path.is_empty() {
            entry.key.clone()
        } else {
            format!("{path}.{}", entry.key)
        };
        if let Some(key) = present_name(&whole, &entry.key)
            && !keys.contains(&key)
        {
            entry.key = key;
        }
        rename_below(&mut entry.value, &whole);
    }
}

/// Returns the present name of a key with this path. `None` for a present key. A key of a scale may
/// itself be dotted.
fn present_name(path: &str, key: &str) -> Option<String> {
    let is_partial = ["variants.", "matrix.", "screen.", "scales."]
        .iter()
        .any(|section| path.starts_with(section));
    let is_named = |former: &str| {
        path == former
            || is_partial && path.strip_suffix(former).is_some_and(|it| it.ends_with('.'))
    };
    let (former, present) = FORMER.iter().find(|(former, _)| is_named(former))?;
    let last = former.rsplit('.').next().unwrap_or(former);
    Some(format!("{}{present}", key.strip_suffix(last)?))
}

#[cfg(test)]
mod tests {
    use crate::resolve::resolve;
    use crate::settings::{IfInconclusive, Overrides};

    #[test]
    fn a_former_key_is_read_in_every_part_of_a_study() {
        let text = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: standard1}\n\
                    procedure: {fixed: {threads: 4}}\nrequire: {p99_ms: 10, untold: pass}\n\
                    variants: {a: {}, b: {require: {untold: miss}}, c: {require: {inconclusive: \
                    estimate}}}\nscales: {strict: {require.untold: miss}}\n";
        let settings = |overrides: &Overrides| -> Vec<IfInconclusive> {
            let study = resolve("s.yaml", text, overrides).unwrap();
            study
                .variants
                .iter()
                .map(|variant| variant.settings.require.inconclusive)
                .collect()
        };
        use IfInconclusive::{Estimate, Miss, Pass};
        assert_eq!(settings(&Overrides::default()), [Pass, Miss, Estimate]);
        let strict = Overrides {
            scale: Some("strict".to_owned()),
            ..Overrides::default()
        };
        assert_eq!(settings(&strict), [Miss, Miss, Estimate]);
        let set = Overrides {
            set: vec!["require.untold=estimate".to_owned()],
            ..Overrides::default()
        };
        assert_eq!(settings(&set), [Estimate, Miss, Estimate]);
    }

    #[test]
    fn a_key_and_its_former_name_exclude_each_other() {
        let text = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: standard1}\n\
                    procedure: {fixed: {threads: 4}}\n\
                    require: {p99_ms: 10, untold: pass, inconclusive: miss}\n";
        let mistakes = resolve("s.yaml", text, &Overrides::default()).unwrap_err();
        assert!(
            mistakes.to_string().contains("use `require.inconclusive`"),
            "{mistakes}"
        );
    }
}
