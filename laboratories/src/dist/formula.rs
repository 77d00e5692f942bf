//! Writes a formula for Homebrew on Linux. The formula contains the addresses of the archives, and
//! the paths to which their files are installed.

use super::address::Address;
use super::installer::Archive;
use anyhow::{Result, ensure};
use std::fmt::Write;

/// Name of the file next to the packages.
pub const NAME: &str = "cassay.rb";

/// Text of the formula after the addresses.
const REST: &str = r##"
  def install
    bin.install "bin/cassay"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/cassay"
    zsh_completion.install "share/zsh/site-functions/_cassay"
    fish_completion.install "share/fish/vendor_completions.d/cassay.fish"
    pkgshare.install Dir["share/cassay/*"]
    doc.install Dir["share/doc/cassay/*"]
  end

  def caveats
    "Cassandra on this machine needs Java 17, for example from the formula openjdk@17."
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/cassay --version")
  end
end
"##;

/// Returns the formula for version `number` of the program, whose archives are published at an
/// address.
///
/// # Errors
/// The list of archives is empty.
pub fn build(number: &str, archives: &[Archive], published: &Address) -> Result<String> {
    ensure!(!archives.is_empty(), "a formula without archives");
    let mut text = format!(
        "# Homebrew on Linux: brew install --formula ./{NAME}, or from a tap that has this file.\n\
         class Cassay < Formula\n  desc \"{}\"\n  homepage \"{published}\"\n  \
         version \"{number}\"\n  license \"Apache-2.0\"\n\n  depends_on :linux\n",
        // The article is removed, because Homebrew's rules do not permit one at the beginning of a
        // description.
        super::SUMMARY.trim_start_matches("A ").replacen('p', "P", 1),
    );
    for archive in archives {
        let _ = write!(
            text,
            "\n  on_{} do\n    url \"{published}/{}\"\n    sha256 \"{}\"\n  end\n",
            archive.one.homebrew(),
            archive.name(number),
            archive.sha256,
        );
    }
    Ok(text + REST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtask::architecture::Architecture;

    #[test]
    fn a_formula_names_each_archive_with_its_digest() {
        let archive = |one, sha256: &str| Archive {
            one,
            sha256: sha256.to_owned(),
        };
        let archives = [
            archive(Architecture::X86, "aa"),
            archive(Architecture::Arm, "bb"),
        ];
        let published = "https://example.com/v1.2.3".parse().unwrap();
        let text = build("1.2.3", &archives, &published).unwrap();
        for expected in [
            "  on_intel do\n    url \"https://example.com/v1.2.3/cassay-1.2.3-x86_64-unknown-linux-\
             musl.tar.gz\"\n    sha256 \"aa\"\n",
            "  on_arm do\n    url \"https://example.com/v1.2.3/cassay-1.2.3-aarch64-unknown-linux-\
             musl.tar.gz\"\n    sha256 \"bb\"\n",
            "  depends_on :linux\n",
            "  desc \"Performance laboratory for Apache Cassandra\"\n",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
    }
}
