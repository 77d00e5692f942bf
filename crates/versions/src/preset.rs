//! Presets: the settings files that come with Cassandra.

use crate::line::Line;
use crate::release_lines::{LINES, joined};
use serde_json::{Map, Value};

/// A settings file that comes with a release line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// The file `conf/cassandra.yaml`, the default of a new cluster.
    Shipped,
    /// The file `conf/cassandra_latest.yaml`, which the maintainers recommend for new clusters that
    /// need no downgrade.
    Latest,
}

impl Preset {
    pub const ALL: [Preset; 2] = [Preset::Shipped, Preset::Latest];

    /// Returns the name of the preset in a study.
    pub fn word(self) -> &'static str {
        match self {
            Preset::Shipped => "shipped",
            Preset::Latest => "latest",
        }
    }

    /// Returns the name of the preset's file.
    pub fn file(self) -> &'static str {
        match self {
            Preset::Shipped => "cassandra.yaml",
            Preset::Latest => "cassandra_latest.yaml",
        }
    }

    /// Returns the preset with the name `word` in a study. Returns `None` if the name is unknown.
    pub fn find(word: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.word() == word)
    }
}

impl Line {
    /// Returns the settings of the file in this line that differ from a server's defaults. The
    /// result does not contain addresses, folders, access, or the position of nodes. Returns `None`
    /// if the settings are unknown.
    pub fn preset(&self, preset: Preset) -> Option<Map<String, Value>> {
        let presets = self.presets.as_ref()?;
        let text = match preset {
            Preset::Shipped => presets.shipped,
            Preset::Latest => presets.latest,
        };
        serde_json::from_str(text).ok()
    }

    /// Formats the names of the lines whose settings files are known, for sentences.
    pub fn with_presets() -> String {
        let known = LINES.iter().filter(|line| line.presets.is_some());
        joined(&known.map(|line| line.name).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Setting;

    #[test]
    fn every_setting_of_a_preset_is_known_to_its_line() {
        for line in LINES.iter().filter(|line| line.presets.is_some()) {
            for preset in Preset::ALL {
                let settings = line.preset(preset).expect("an object");
                assert!(!settings.is_empty());
                for (key, value) in &settings {
                    assert_eq!(
                        line.setting(key, value),
                        Setting::Known,
                        "{} {key}",
                        line.name
                    );
                }
            }
            let latest = line.preset(Preset::Latest).expect("an object");
            assert_eq!(latest["sstable"]["selected_format"], "bti");
            let shipped = line.preset(Preset::Shipped).expect("an object");
            assert!(
                shipped.keys().all(|key| latest.contains_key(key)),
                "{}",
                line.name
            );
        }
        assert_eq!(Line::with_presets(), "5.0 and 6.0");
    }
}
