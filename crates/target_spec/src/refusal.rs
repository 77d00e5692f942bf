//! Settings of local nodes with which nodes cannot start on any machine. cassay refuses these
//! settings before it starts the nodes.

use crate::compressed_pointers::unlike_archive;
use crate::heap::heap_refusal;
use crate::java::java_refusal;
use crate::spec::LocalSpec;

/// Reason why a study cannot use the option `ha` on remote machines, and the remedy. The option
/// starts the nodes of a failed host on another host.
pub const NO_HA_OF_MACHINES: [&str; 2] = [
    "moves volumes between hosts, which is impossible for machines",
    "remove this key, or the variant that sets it: `--set variants.NAME=none`",
];

/// A setting with which local nodes cannot start on any machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecRefusal {
    /// Key of the setting below `target.local`.
    pub key: &'static str,
    /// Reason for the refusal. It includes the value of the setting.
    pub why: String,
    /// Advice on how to correct the setting.
    pub hint: String,
}

/// Returns all settings of a specification that cassay refuses.
pub fn spec_refusals(spec: &LocalSpec) -> Vec<SpecRefusal> {
    let java = java_refusal(spec).map(|(why, hint)| SpecRefusal {
        key: "java",
        why,
        hint,
    });
    let classes = class_sharing_refusal(spec).map(|why| SpecRefusal {
        key: "class_sharing",
        why,
        hint: "omit `class_sharing`, or use another collector or heap".to_owned(),
    });
    let heap = heap_refusal(spec).map(|why| SpecRefusal {
        key: "jvm",
        why,
        hint:
            "write the size in `heap`, which sets the initial and the maximum heap, and remove the \
             option"
                .to_owned(),
    });
    java.into_iter().chain(classes).chain(heap).collect()
}

/// Returns the reason why nodes cannot share a class archive. `None` if they can, or if the
/// specification does not request this.
pub fn class_sharing_refusal(spec: &LocalSpec) -> Option<String> {
    let what = unlike_archive(spec).filter(|_| spec.class_sharing)?;
    Some(format!(
        "the study requests class data sharing, which is impossible with {what}: the layout of \
         objects, or of pointers to them, differs from the archive"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::java::JavaChoice;
    use crate::spec::Collector;

    #[test]
    fn settings_that_no_machine_can_start_are_refused_by_their_key() {
        let keys = |change: fn(&mut LocalSpec)| -> Vec<&str> {
            let mut spec = LocalSpec::default();
            change(&mut spec);
            spec_refusals(&spec).iter().map(|refusal| refusal.key).collect()
        };
        assert_eq!(keys(|_| {}), [""; 0]);
        assert_eq!(
            keys(|spec| spec.java = Some(JavaChoice::Major(21))),
            ["java"]
        );
        assert_eq!(
            keys(|spec| spec.java = Some(JavaChoice::Major(11))),
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
