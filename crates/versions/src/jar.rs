//! Reads files within a jar, which is a zip file.

use flate2::read::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive};
use std::io::{self, Read};

/// Path of the file in the server's jar that contains the version.
const VERSION_FILE: &str = "org/apache/cassandra/config/version.properties";
/// Maximum size of the version file, in bytes. A real version file has three short lines.
const VERSION_FILE_BYTES_MAX: u64 = 64 << 10;

/// Unpacks one file of a jar. The function returns at most `bytes_max` bytes, or `None` if the jar
/// does not contain the file.
///
/// # Errors
/// The jar is not a zip file, or compresses the file with an unknown method.
pub fn member_of_jar(jar: &[u8], member: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let archive = ZipArchive::from_slice(jar).map_err(io::Error::other)?;
    let mut entries = archive.entries();
    while let Some(entry) = entries.next_entry().map_err(io::Error::other)? {
        if entry.file_path().as_bytes() != member.as_bytes() {
            continue;
        }
        let found = archive.get_entry(entry.wayfinder()).map_err(io::Error::other)?;
        let packed: Box<dyn Read> = match entry.compression_method() {
            CompressionMethod::STORE => Box::new(found.data()),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(found.data())),
            other => {
                let why = format!("the compression of the jar is unknown: {other:?}");
                return Err(io::Error::other(why));
            }
        };
        let mut bytes = Vec::new();
        packed.take(bytes_max).read_to_end(&mut bytes)?;
        return Ok(Some(bytes));
    }
    Ok(None)
}

/// Returns the version of the Cassandra server in a jar. Returns `None` if the jar does not contain
/// a server.
pub(crate) fn server_version(jar: &[u8]) -> Option<String> {
    let bytes = member_of_jar(jar, VERSION_FILE, VERSION_FILE_BYTES_MAX).ok()??;
    let text = String::from_utf8_lossy(&bytes);
    let version = text.lines().find_map(|line| line.strip_prefix("CassandraVersion="))?;
    Some(version.trim().to_owned()).filter(|version| !version.is_empty())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::io::Write;

    pub(crate) fn jar_with(member: &str, text: &str) -> Vec<u8> {
        let mut zip = rawzip::ZipArchiveWriter::new(Vec::new());
        let named = zip.new_file(member);
        let (mut entry, config) =
            named.compression_method(CompressionMethod::DEFLATE).start().unwrap();
        let packing = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::fast());
        let mut writer = config.wrap(packing);
        writer.write_all(text.as_bytes()).unwrap();
        let (packing, descriptor) = writer.finish().unwrap();
        packing.finish().unwrap();
        entry.finish(descriptor).unwrap();
        zip.finish().unwrap()
    }

    /// Returns a server's jar with this version.
    pub(crate) fn server(version: &str) -> Vec<u8> {
        jar_with(
            VERSION_FILE,
            &format!("#a date\nCassandraVersion={version}\nGitSHA=1\n"),
        )
    }

    #[test]
    fn a_file_is_taken_out_of_a_jar_up_to_a_limit() {
        let jar = jar_with("a/b", "text");
        assert_eq!(member_of_jar(&jar, "a/b", 99).unwrap().unwrap(), b"text");
        assert_eq!(member_of_jar(&jar, "a/b", 2).unwrap().unwrap(), b"te");
        assert_eq!(member_of_jar(&jar, "a/c", 99).unwrap(), None);
        member_of_jar(b"no zip", "a/b", 99).unwrap_err();
    }

    #[test]
    fn a_servers_jar_says_its_version_and_another_says_none() {
        assert_eq!(server_version(&server("5.0.9")).unwrap(), "5.0.9");
        assert_eq!(
            server_version(&jar_with("a", "CassandraVersion=5.0.9")),
            None
        );
        assert_eq!(server_version(b"no zip"), None);
    }
}
