//! What came of a study's requirements.

use store::record::RequirementRecord;

/// What came of them, for the answer's first sentence; none without any.
pub fn sentence(requirements: &[RequirementRecord]) -> Option<String> {
    let all = requirements.len();
    let missed: Vec<_> = requirements.iter().filter(|r| r.is_missed()).collect();
    let open = requirements.iter().filter(|r| r.is_open()).count();
    let what = match (all, missed.len(), open) {
        (0, ..) => return None,
        (1, 1, _) => "The one requirement is missed".to_owned(),
        (1, _, 1) => "Whether the one requirement is met cannot be told".to_owned(),
        (1, ..) => "The one requirement is met".to_owned(),
        (_, 0, 0) => format!("All {all} requirements are met"),
        (_, 0, open) => format!("Of {all} requirements none is missed, and {open} cannot be told"),
        (_, 1, _) => format!("1 of {all} requirements is missed"),
        (_, missed, _) => format!("{missed} of {all} requirements are missed"),
    };
    let first = missed.first().map(|first| format!(": {}", first.says));
    let more = missed.len().saturating_sub(1);
    let more = (more > 0).then(|| format!(" And {more} more."));
    let end = if first.is_some() { "" } else { "." };
    Some(what + &first.unwrap_or_default() + &more.unwrap_or_default() + end)
}
