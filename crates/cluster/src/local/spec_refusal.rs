//! What local nodes are asked to be and can be on no machine: known before anything is started.

use super::classes;
use crate::spec::LocalSpec;
use crate::supply;

/// A setting of local nodes that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecRefusal {
    /// Its key below `target.local`.
    pub key: &'static str,
    /// Why, with its value.
    pub why: String,
    /// What to do.
    pub hint: String,
}

/// All of them.
pub fn refusals(spec: &LocalSpec) -> Vec<SpecRefusal> {
    let version = supply::refusal(&spec.version).map(|(why, hint)| SpecRefusal {
        key: "cassandra",
        why,
        hint,
    });
    let classes = classes::refusal(spec).map(|why| SpecRefusal {
        key: "class_sharing",
        why,
        hint: "leave it out, or take another collector or heap".to_owned(),
    });
    version.into_iter().chain(classes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Collector;

    #[test]
    fn what_no_machine_can_start_is_refused_by_its_key() {
        let keys = |change: fn(&mut LocalSpec)| -> Vec<&str> {
            let mut spec = LocalSpec::default();
            change(&mut spec);
            refusals(&spec).iter().map(|refusal| refusal.key).collect()
        };
        assert_eq!(keys(|_| {}), [""; 0]);
        assert_eq!(
            keys(|spec| spec.version = "4.1.5".to_owned()),
            ["cassandra"]
        );
        assert_eq!(
            keys(|spec| spec.version = "5.0.9-SNAPSHOT".to_owned()),
            [""; 0]
        );
        let both = keys(|spec| {
            spec.class_sharing = true;
            spec.collector = Some(Collector::Z);
        });
        assert_eq!(both, ["class_sharing"]);
        assert_eq!(keys(|spec| spec.class_sharing = true), [""; 0]);
    }
}
