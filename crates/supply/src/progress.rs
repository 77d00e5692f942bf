//! Messages about the fetching of jars.

use measure::number;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Number of complete and verified files.
    pub files: usize,
    /// Number of required files.
    pub files_wanted: usize,
    /// Number of available bytes.
    pub bytes: u64,
    /// Number of required bytes.
    pub bytes_wanted: u64,
}

impl Progress {
    pub fn words(self) -> String {
        format!(
            "{} of {} files, {} of {}",
            self.files,
            self.files_wanted,
            number::bytes(self.bytes),
            number::bytes(self.bytes_wanted)
        )
    }

    /// Returns the number of complete quarters of all bytes.
    fn quarters(self) -> u64 {
        4 * self.bytes / self.bytes_wanted.max(1)
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// Sentence that remains in the output.
    Line(&'a str),
    /// Frequent message, which is soon outdated.
    Progress(Progress),
}

/// Function that shows each message to the user.
pub type Voice<'a> = dyn FnMut(Message<'_>) + 'a;

/// Returns a [`Voice`] for output that keeps its lines, such as a log. It prints each sentence, and
/// one line for each of the first three quarters of the bytes.
pub fn plainly<'a>(say: &'a mut dyn FnMut(&str)) -> impl FnMut(Message<'_>) + 'a {
    let mut quarters = 0;
    move |said| match said {
        Message::Line(line) => say(line),
        Message::Progress(progress) => {
            let now = progress.quarters();
            // The next message reports the result, so the last quarter needs no line.
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
