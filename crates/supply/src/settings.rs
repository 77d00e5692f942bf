//! What Maven is set to, as far as it says where jars are: the folder of its own cache, and a
//! mirror in the place of Maven Central.
//!
//! Read from the user's `settings.xml`, then from the machine's, as Maven does. What else stands
//! there (proxies, passwords, profiles) stays Maven's own: it is asked when we are refused.

use foreign::FileKind;
use roxmltree::{Document, Node};
use std::path::{Path, PathBuf};

/// The repository of which a mirror is looked for.
const CENTRAL: &str = "central";

/// What puts Maven's cache somewhere for all projects of a user.
const LOCAL_OPTION: &str = "-Dmaven.repo.local=";

/// What Maven is set to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The folder of Maven's cache; none: `~/.m2/repository`.
    pub local: Option<PathBuf>,
    /// The address to ask instead of Maven Central.
    pub mirror: Option<String>,
    /// What could not be read, a sentence each.
    pub notes: Vec<String>,
}

impl Settings {
    /// The folder of Maven's cache, if it is there.
    pub fn local_folder(&self) -> Option<PathBuf> {
        let usual = || std::env::home_dir().map(|home| home.join(".m2/repository"));
        self.local.clone().or_else(usual).filter(|folder| folder.is_dir())
    }

    /// Those of this user on this machine.
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
            // Most machines have none or one of them.
            let Ok(text) = foreign::text(FileKind::Supply, &file) else {
                continue;
            };
            match Settings::of_text(&text, &variable) {
                Ok(found) => all = all.or(found),
                Err(why) => all.notes.push(format!("{} is passed over: {why}", file.display())),
            }
        }
        all
    }

    /// What is in here, and what is not from `other`.
    fn or(mut self, other: Settings) -> Settings {
        self.local = self.local.or(other.local);
        self.mirror = self.mirror.or(other.mirror);
        self
    }

    /// Of the text of one file, where `variable` knows the environment.
    pub fn of_text(
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

/// The first element below another one with a name, in whatever name space.
fn child<'a>(of: Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    of.children().find(|node| node.tag_name().name() == name)
}

/// Whether `mirrorOf` means Maven Central: names and patterns with commas between them.
fn is_of_central(patterns: &str) -> bool {
    let mut words = patterns.split(',').map(str::trim);
    let is_out = words.clone().any(|word| word.strip_prefix('!') == Some(CENTRAL));
    !is_out && words.any(|word| matches!(word, "*" | "external:*" | CENTRAL))
}

/// A value with `${user.home}` and `${env.NAME}` filled in; what is not known stays as it is.
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

    fn of(text: &str) -> Settings {
        let variable = |name: &str| (name == "MIRROR").then(|| "m.example".to_string());
        Settings::of_text(text, &variable).unwrap()
    }

    #[test]
    fn the_first_mirror_of_central_is_taken_and_the_folder_of_the_cache() {
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
        let found = of(text);
        assert_eq!(found.mirror.as_deref(), Some("https://m.example/maven"));
        assert_eq!(found.local, Some("/var/cache/m.example/${env.NONE}".into()));
    }

    #[test]
    fn settings_that_say_nothing_change_nothing_and_what_is_no_xml_is_told() {
        assert_eq!(of("<settings/>"), Settings::default());
        assert!(Settings::of_text("<settings>", &|_| None).is_err());
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
