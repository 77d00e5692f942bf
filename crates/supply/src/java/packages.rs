//! Advice on installing Java on this system, by distribution.

use foreign::FileKind;

/// Placeholder for the major version in the texts below.
const MAJOR: &str = "{MAJOR}";

/// Names of distributions in `/etc/os-release`, and their installation commands.
const PACKAGES: [(&[&str], &str); 5] = [
    (
        &["debian", "ubuntu"],
        "apt-get install openjdk-{MAJOR}-jre-headless",
    ),
    (
        &["fedora", "rhel", "centos"],
        "dnf install java-{MAJOR}-openjdk-headless",
    ),
    (&["alpine"], "apk add openjdk{MAJOR}-jre-headless"),
    (&["arch"], "pacman -S jre{MAJOR}-openjdk-headless"),
    (
        &["opensuse", "suse", "sles"],
        "zypper install java-{MAJOR}-openjdk-headless",
    ),
];

/// Installation command for macOS, which lacks `/etc/os-release`.
const HOMEBREW: &str = "brew install openjdk@{MAJOR}";

/// Advice for every system. New releases of distributions no longer contain Java 17.
const ANYWHERE: &str =
    "Temurin {MAJOR} from https://adoptium.net, unpacked below /opt or set in JAVA_HOME";

pub(super) fn hint(major: u32) -> String {
    let texts = ["/etc/os-release", "/usr/lib/os-release"];
    let release = texts.iter().find_map(|path| foreign::text(FileKind::System, path).ok());
    let command = match std::env::consts::OS {
        "macos" => Some(HOMEBREW),
        _ => command_of(&release.unwrap_or_default()),
    };
    let said = match command {
        Some(command) => format!("hint: {command}; if this package does not exist, {ANYWHERE}"),
        None => format!("hint: {ANYWHERE}"),
    };
    said.replace(MAJOR, &major.to_string())
}

/// Returns the installation command for the distribution in an `os-release`, or for a distribution
/// on which it is based.
fn command_of(release: &str) -> Option<&'static str> {
    let value = |key: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_default().trim_matches(['"', '\'']).to_owned()
    };
    let (own, like) = (value("ID"), value("ID_LIKE"));
    let mut names = std::iter::once(own.as_str()).chain(like.split_whitespace());
    names.find_map(|name| {
        // The names of openSUSE have two words, such as opensuse-leap.
        let begin = name.split('-').next().unwrap_or_default();
        let row = PACKAGES.iter().find(|(names, _)| names.contains(&begin));
        row.map(|(_, command)| *command)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distribution_is_told_its_own_package() {
        for (release, command) in [
            ("ID=debian\nVERSION_ID=\"12\"", Some("apt-get")),
            (
                "NAME=x\nID=linuxmint\nID_LIKE=\"ubuntu debian\"",
                Some("apt-get"),
            ),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"", Some("dnf")),
            ("ID=fedora", Some("dnf")),
            ("ID=alpine", Some("apk")),
            ("ID=arch", Some("pacman")),
            (
                "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"",
                Some("zypper"),
            ),
            ("ID=nixos", None),
            ("", None),
        ] {
            let found = command_of(release).and_then(|command| command.split(' ').next());
            assert_eq!(found, command, "{release}");
        }
        let said = hint(21);
        assert!(
            said.starts_with("hint: ") && said.contains("Temurin 21"),
            "{said}"
        );
        assert!(!said.contains(MAJOR), "{said}");
    }
}
