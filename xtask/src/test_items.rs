//! Recognises items with `#[cfg(test)]` in the tokens of a source file. The attribute comes before
//! the item, and the item ends with its body or with a semicolon.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Returns the tokens of a file without the items with `#[cfg(test)]` and their attributes. The
/// result is empty for a file that cannot be parsed, which `function_lengths` reports.
pub fn without_tests(text: &str) -> TokenStream {
    shipped(text.parse().unwrap_or_default())
}

fn shipped(tokens: TokenStream) -> TokenStream {
    let (mut kept, mut tokens) = (Vec::<TokenTree>::new(), tokens.into_iter());
    while let Some(token) = tokens.next() {
        if is_cfg_test(&token) {
            kept.pop();
            while let [.., TokenTree::Punct(sign), before] = &kept[..]
                && sign.as_char() == '#'
                && is_group(before, Delimiter::Bracket)
            {
                kept.truncate(kept.len() - 2);
            }
            tokens.find(is_item_end);
        } else if let TokenTree::Group(group) = &token {
            let mut inner = Group::new(group.delimiter(), shipped(group.stream()));
            inner.set_span(group.span());
            kept.push(inner.into());
        } else {
            kept.push(token);
        }
    }
    kept.into_iter().collect()
}

/// Returns true if a token is the `[cfg(test)]` of an attribute.
pub fn is_cfg_test(token: &TokenTree) -> bool {
    is_group(token, Delimiter::Bracket) && token.to_string().replace(' ', "") == "[cfg(test)]"
}

/// Returns true if a token is the body of an item, or its semicolon.
pub fn is_item_end(token: &TokenTree) -> bool {
    is_group(token, Delimiter::Brace)
        || matches!(token, TokenTree::Punct(it) if it.as_char() == ';')
}

fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == delimiter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_tests_are_removed_with_all_their_attributes() {
        let source = "/// D\n#[cfg(test)]\n#[a]\nmod t { x }\nfn b() {\n#[cfg(test)]\nuse c;\n}\n";
        let kept: TokenStream = "fn b() {}".parse().unwrap();
        assert_eq!(without_tests(source).to_string(), kept.to_string());
    }
}
