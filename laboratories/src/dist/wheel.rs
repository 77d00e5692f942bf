//! Packs the program as a Python wheel. `pip install`, `pipx` and `uv tool` install the program on
//! the path, and the other files in `share` of the environment.

use super::archive::{Contents, Packed};
use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::io::{Cursor, Write as _};
use xtask::architecture::Architecture;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Platform tags. A static program runs on every Linux, with musl or glibc. The tags name glibc
/// 2.17, because it is the oldest glibc with a tag, and old versions of pip support this tag.
const SYSTEMS: [&str; 3] = ["manylinux_2_17", "manylinux2014", "musllinux_1_1"];

/// Returns the name and the bytes of the wheel of version `number` of the program.
///
/// # Errors
/// The wheel cannot be written.
pub fn build(contents: &Contents, number: &str, one: Architecture) -> Result<(String, Vec<u8>)> {
    let processor = one.name();
    let systems = SYSTEMS.map(|system| format!("{system}_{processor}"));
    let mut files = placed(contents, number);
    let described = format!("cassay-{number}.dist-info");
    let readme = contents.get("share/doc/cassay/README.md").context("the README is packed")?;
    let readme = String::from_utf8_lossy(&readme.bytes);
    files.push((
        format!("{described}/METADATA"),
        Packed::plain(metadata(number, &readme)),
    ));
    files.push((format!("{described}/WHEEL"), Packed::plain(tags(&systems))));
    let record = record(&files, &format!("{described}/RECORD"));
    files.push((format!("{described}/RECORD"), Packed::plain(record)));
    let name = format!("cassay-{number}-py3-none-{}.whl", systems.join("."));
    Ok((name, zipped(&files)?))
}

/// Moves each file to its path in a wheel. The program becomes a script, and the other files are
/// data in the environment.
fn placed(contents: &Contents, number: &str) -> Vec<(String, Packed)> {
    let data = format!("cassay-{number}.data");
    let place = |(path, file): (&String, &Packed)| {
        let to = match path.strip_prefix("bin/") {
            Some(name) => format!("{data}/scripts/{name}"),
            None => format!("{data}/data/{path}"),
        };
        (to, file.clone())
    };
    contents.iter().map(place).collect()
}

fn metadata(number: &str, readme: &str) -> String {
    format!(
        "Metadata-Version: 2.4\n\
         Name: cassay\n\
         Version: {number}\n\
         Summary: {}\n\
         License-Expression: Apache-2.0\n\
         Keywords: cassandra,benchmark,performance,load\n\
         Classifier: Environment :: Console\n\
         Classifier: Operating System :: POSIX :: Linux\n\
         Classifier: Topic :: Database\n\
         Classifier: Topic :: System :: Benchmark\n\
         Requires-Python: >=3.7\n\
         Description-Content-Type: text/markdown\n\n{readme}",
        super::SUMMARY
    )
}

fn tags(systems: &[String]) -> String {
    let mut text =
        "Wheel-Version: 1.0\nGenerator: cassay-xtask\nRoot-Is-Purelib: false\n".to_owned();
    for system in systems {
        let _ = writeln!(text, "Tag: py3-none-{system}");
    }
    text
}

/// Returns a list with the digest and the size of every file. The entry for the list itself has no
/// digest and no size.
fn record(files: &[(String, Packed)], own: &str) -> String {
    let mut text = String::new();
    for (path, file) in files {
        let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(&file.bytes));
        let _ = writeln!(text, "{path},sha256={digest},{}", file.bytes.len());
    }
    let _ = writeln!(text, "{own},,");
    text
}

fn zipped(files: &[(String, Packed)]) -> Result<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, file) in files {
        // The files get no time, so they have a date in 1980. The bytes of the wheel do not depend
        // on the time of packing.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(9))
            .unix_permissions(file.mode());
        archive.start_file(path, options).with_context(|| format!("pack {path}"))?;
        archive.write_all(&file.bytes).with_context(|| format!("pack {path}"))?;
    }
    Ok(archive.finish().context("end the wheel")?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_wheel_has_a_tag_for_every_system_and_records_every_file() {
        let mut contents = Contents::new();
        contents.insert(
            "bin/cassay".to_owned(),
            Packed::program(b"program".to_vec()),
        );
        contents.insert(
            "share/doc/cassay/README.md".to_owned(),
            Packed::plain("# cassay\n"),
        );
        let (name, bytes) = build(&contents, "1.2.3", Architecture::X86).unwrap();
        let tags = "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64";
        assert_eq!(name, format!("cassay-1.2.3-py3-none-{tags}.whl"));
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
        let names: Vec<String> =
            archive.file_names().map(|name| name.unwrap().into_owned()).collect();
        let mut read = |path: &str| {
            let mut file = archive.by_name(path).unwrap();
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            (file.unix_mode().unwrap() & 0o777, text)
        };
        let program = (0o755, "program".to_owned());
        assert_eq!(read("cassay-1.2.3.data/scripts/cassay"), program);
        let (_, record) = read("cassay-1.2.3.dist-info/RECORD");
        for name in &names {
            assert!(
                record.lines().any(|line| line.starts_with(&format!("{name},"))),
                "{name}"
            );
        }
        let (_, wheel) = read("cassay-1.2.3.dist-info/WHEEL");
        assert!(
            wheel.contains("\nTag: py3-none-musllinux_1_1_x86_64\n"),
            "{wheel}"
        );
        assert!(read("cassay-1.2.3.dist-info/METADATA").1.ends_with("\n\n# cassay\n"));
    }
}
