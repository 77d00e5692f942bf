//! Maven's settings for finding jars: the folder of Maven's cache, and a mirror of Maven Central.
//!
//! As in Maven, the user's `settings.xml` takes precedence over that of the machine. Other settings
//! (proxies, passwords, profiles) are ignored, because cassay runs Maven itself if the repository
//! refuses.

use foreign::FileKind;
use roxmltree::{Document, Node};
use std::path::{Path, PathBuf};

/// Id of the repository for which a mirror is used.
const CENTRAL: &str = "central";

/// Option with the folder of Maven's cache for all projects of a user.
const LOCAL_OPTION: &str = "-Dmaven.repo.local=";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Folder of Maven's cache. `None` means `~/.m2/repository`.
    pub local: Option<PathBuf>,
    /// Address to use instead of Maven Central, if the settings contain a mirror.
    pub mirror: Option<String>,
    /// One sentence for each file that could not be read.
    pub notes: Vec<String>,
}

impl Settings {
    /// Returns the folder of Maven's cache, if it exists.
    pub fn local_folder(&self) -> Option<PathBuf> {
        let usual = || std::env::home_dir().map(|home| home.join(".m2/repository"));
        self.local.clone().or_else(usual).filter(|folder| folder.is_dir())
    }

    /// Reads the settings of this user on this machine.
    pub fn here() -> Settings {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut files = Vec::new();
        files.extend(std::env::home_dir().map(|home| home.join(".m2/settings.xml")));
        for home in ["MAVEN_HOME", "M2_HOME"].into_iter().filter_map(variable) {
            files.push(Path::new(&home).join("conf/settings.xml"));
        }
        files.extend(
            [
                "/etc/maven/settings.xml",
                "/usr/share/maven/conf/settings.xml",
            ]
            .map(Into::into),
        );
        let mut all = Settings::default();
        let options = ["MAVEN_ARGS", "MAVEN_OPTS"].into_iter().filter_map(variable);
        for options in options {
            let mut words = options.split_whitespace();
            let found = words.find_map(|word| word.strip_prefix(LOCAL_OPTION));
            all.local = all.local.or(found.map(PathBuf::from));
        }
        for file in files {
            // Most machines lack some of these files.
            let Ok(text) = foreign::text(FileKind::Supply, &file) else {
                continue;
            };
            match Settings::from_text(&text, &variable) {
                Ok(found) => all = all.or(found),
                Err(why) => all.notes.push(format!("cassay ignores {}: {why}", file.display())),
            }
        }
        all
    }

    /// Takes missing settings from `other`.
    fn or(mut self, other: Settings) -> Settings {
        self.local = self.local.or(other.local);
        self.mirror = self.mirror.or(other.mirror);
        self
    }

    /// Parses a settings file. `variable` returns the value of an environment variable.
    pub fn from_text(
        text: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Settings, roxmltree::Error> {
        let document = Document::parse(text)?;
        let root = document.root_element();
        let value = |of: Node<'_, '_>, name: &str| {
            let text = child(of, name)?.text()?.trim();
            (!text.is_empty()).then(|| filled(text, variable))
        };
        let mirrors = child(root, "mirrors");
        let mut all = mirrors.iter().flat_map(|mirrors| mirrors.children());
        let mirror = all.find_map(|mirror| {
            let of = value(mirror, "mirrorOf")?;
            let is_blocked = value(mirror, "blocked").is_some_and(|word| word == "true");
            value(mirror, "url").filter(|_| is_of_central(&of) && !is_blocked)
        });
        Ok(Settings {
            local: value(root, "localRepository").map(PathBuf::from),
            mirror,
            notes: Vec::new(),
        })
    }
}

/// Returns the first child element with a name, in any namespace.
fn child<'a>(of: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    of.children().find(|node| node.tag_name().name() == name)
}

/// Returns true if `mirrorOf`, a comma-separated list of names and patterns, includes Maven
/// Central.
fn is_of_central(patterns: &str) -> bool {
    let mut words = patterns.split(',').map(str::trim);
    let is_out = words.clone().any(|word| word.strip_prefix('!') == Some(CENTRAL));
    !is_out && words.any(|word| matches!(word, "*" | "external:*" | CENTRAL))
}

/// Replaces `${user.home}` and `${env.NAME}` in a value. Unknown placeholders remain.
fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else {
            break;
        };
        let value = match name.strip_prefix("env.") {
            Some(name) => variable(name),
            None if name == "user.home" => {
                std::env::home_dir().map(|home| home.display().to_string())
            }
            None => None,
        };
        out += before;
        out += &value.unwrap_or_else(|| format!("${{{name}}}"));
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Settings {
        let variable = |name: &str| (name == "MIRROR").then(|| "m.example".to_string());
        Settings::from_text(text, &variable).unwrap()
    }

    #[test]
    fn the_first_mirror_of_central_and_the_cache_folder_are_used() {
        let text = r#"<?xml version="1.0"?>
            <settings xmlns="http://maven.apache.org/SETTINGS/1.0.0">
              <localRepository>/var/cache/${env.MIRROR}/${env.NONE}</localRepository>
              <mirrors>
                <mirror><id>a</id><mirrorOf>external:http:*</mirrorOf>
                  <url>http://0.0.0.0/</url><blocked>true</blocked></mirror>
                <mirror><id>b</id><mirrorOf>*,!central</mirrorOf><url>https://b</url></mirror>
                <mirror><id>c</id><mirrorOf> other, central </mirrorOf>
                  <url> https://${env.MIRROR}/maven </url></mirror>
                <mirror><id>d</id><mirrorOf>*</mirrorOf><url>https://d</url></mirror>
              </mirrors>
            </settings>"#;
        let found = parse(text);
        assert_eq!(found.mirror.as_deref(), Some("https://m.example/maven"));
        assert_eq!(found.local, Some("/var/cache/m.example/${env.NONE}".into()));
    }

    #[test]
    fn empty_settings_change_nothing_and_invalid_xml_is_reported() {
        assert_eq!(parse("<settings/>"), Settings::default());
        assert!(Settings::from_text("<settings>", &|_| None).is_err());
        let first = Settings {
            mirror: Some("a".into()),
            ..Settings::default()
        };
        let second = Settings {
            mirror: Some("b".into()),
            local: Some("l".into()),
            ..Settings::default()
        };
        let both = first.or(second);
        assert_eq!(
            (both.mirror.as_deref(), both.local),
            (Some("a"), Some("l".into()))
        );
    }
}
