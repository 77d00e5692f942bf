//! What is said while jars come: sentences, and how far it is.

use measure::number;

/// How far a fetch is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files that are there, checked.
    pub files: usize,
    /// Files that are wanted.
    pub files_wanted: usize,
    /// Bytes that are there.
    pub bytes: u64,
    /// Bytes that are wanted.
    pub bytes_wanted: u64,
}

impl Progress {
    /// As words.
    pub fn words(self) -> String {
        format!(
            "{} of {} files, {} of {}",
            self.files,
            self.files_wanted,
            number::bytes(self.bytes),
            number::bytes(self.bytes_wanted)
        )
    }

    /// Quarters of the bytes that are there.
    fn quarters(self) -> u64 {
        4 * self.bytes / self.bytes_wanted.max(1)
    }
}

/// Something that is said.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// A sentence.
    Line(&'a str),
    /// How far it is; often, and soon out of date.
    Progress(Progress),
}

/// Whoever hears what is said.
pub type Voice<'a> = dyn FnMut(Message<'_>) + 'a;

/// A voice for lines that stay: each sentence, and a line for each quarter that has come.
pub fn plainly<'a>(say: &'a mut dyn FnMut(&str)) -> impl FnMut(Message<'_>) + 'a {
    let mut quarters = 0;
    move |said| match said {
        Message::Line(line) => say(line),
        Message::Progress(progress) => {
            let now = progress.quarters();
            // The last one is said by what comes next.
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
