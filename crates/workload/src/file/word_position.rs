//! Finds the position of a word of a scalar in the file.

use yaml::{Node, Place};

/// Returns the position in the file that corresponds to offset `at` in a scalar's text. In quoted
/// scalars and block scalars, offsets in the text and in the file differ. In this case the function
/// finds the word by counting its earlier occurrences.
pub(super) fn place_in(file: &str, node: &Node, at: usize) -> Place {
    let (Some(slice), Some(text)) = (file.get(node.place.span.clone()), node.text()) else {
        return node.place.clone();
    };
    let word_end = |from: usize| {
        let rest = &text[from..];
        let end = rest.char_indices().skip(1);
        let mut end = end.filter(|(_, c)| !c.is_alphanumeric() && *c != '_');
        from + end.next().map_or(rest.len(), |(at, _)| at)
    };
    let Some(word) = text.get(at..).filter(|rest| !rest.is_empty()) else {
        // The statement ends too early, so the mistake is reported at its last character.
        let end = node.place.span.end;
        let last = slice.trim_end().chars().next_back().map_or(0, char::len_utf8);
        let end = end - (slice.len() - slice.trim_end().len());
        return Place {
            source: node.place.source,
            span: end - last..end,
        };
    };
    let word = &word[..word_end(at) - at];
    let before = text[..at].matches(word).count();
    let found = slice.match_indices(word).nth(before);
    let start = node.place.span.start + found.map_or(0, |(at, _)| at);
    let length = if found.is_some() {
        word.len()
    } else {
        slice.len()
    };
    Place {
        source: node.place.source,
        span: start..start + length,
    }
}
