//! Messages about the fetching of jars: sentences, and the progress.

use measure::number;

/// Progress of a fetch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of files that are complete and have been checked.
    pub files: usize,
    /// Number of files that are required.
    pub files_wanted: usize,
    /// Number of bytes that are available.
    pub bytes: u64,
    /// Number of bytes that are required.
    pub bytes_wanted: u64,
}

impl Progress {
    /// Describes the progress.
    pub fn words(self) -> String {
        format!(
            "{} of {} files, {} of {}",
            self.files,
            self.files_wanted,
            number::bytes(self.bytes),
            number::bytes(self.bytes_wanted)
        )
    }

    /// Returns the number of quarters of all bytes that are complete.
    fn quarters(self) -> u64 {
        4 * self.bytes / self.bytes_wanted.max(1)
    }
}

/// A message about the fetching of jars.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// A sentence, which remains in the output.
    Line(&'a str),
    /// The progress. These messages are frequent, and each is soon out of date.
    Progress(Progress),
}

/// Function that receives each message, and shows it to the user.
pub type Voice<'a> = dyn FnMut(Message<'_>) + 'a;

/// Returns a [`Voice`] for output that keeps its lines, such as a log. It prints each sentence, and
/// one line for each of the first three quarters of the bytes.
pub fn plainly<'a>(say: &'a mut dyn FnMut(&str)) -> impl FnMut(Message<'_>) + 'a {
    let mut quarters = 0;
    move |said| match said {
        Message::Line(line) => say(line),
        Message::Progress(progress) => {
            let now = progress.quarters();
            // The line for the last quarter is omitted, because the next message reports the
            // result.
            if now > quarters && now < 4 {
                say(&progress.words());
            }
            quarters = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_stay_are_said_for_each_quarter_once() {
        let mut lines = Vec::new();
        let mut say = |line: &str| lines.push(line.to_string());
        let mut voice = plainly(&mut say);
        for bytes in [0, 10, 30, 31, 60, 80, 99, 100] {
            voice(Message::Progress(Progress {
                bytes,
                bytes_wanted: 100,
                ..Progress::default()
            }));
        }
        voice(Message::Line("done"));
        drop(voice);
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[0].contains("30 B of 100 B"), "{lines:?}");
        assert_eq!(lines[3], "done");
    }
}
