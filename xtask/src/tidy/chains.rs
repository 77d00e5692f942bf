//! Finds values with needless intermediate names. Successive calls should form a chain. The code
//! should not name the result of a call if only the next call uses this name (`let rows =
//! all.iter(); let rows = rows.filter(…);`).

use super::Violation;
use crate::tree::Tree;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, Pat, Stmt};

/// Checks that no value has a name that is used only for a single call in the next line, if that
/// line reuses the name.
pub fn chains(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_extension("rs") {
        // The rule about lengths reports files that cannot be parsed.
        let Ok(syntax) = syn::parse_file(file.text()) else {
            continue;
        };
        let mut renamed = Renamed::default();
        renamed.visit_file(&syntax);
        for (name, line) in renamed.found {
            let what = format!("`{name}` is named again for its next call: write a chain");
            found.push(Violation::on_line(&file.path, line, what));
        }
    }
    found
}

/// Name and line of every value that has a name only for the next call.
#[derive(Default)]
struct Renamed {
    found: Vec<(String, usize)>,
}

impl<'ast> Visit<'ast> for Renamed {
    fn visit_block(&mut self, block: &'ast syn::Block) {
        for pair in block.stmts.windows(2) {
            let (Some(first), Some(next)) = (let_statement(&pair[0]), let_statement(&pair[1]))
            else {
                continue;
            };
            let is_called = receiver(next.value).is_some_and(|name| name == next.name);
            let is_renamed = first.name == next.name && !first.is_typed;
            if is_renamed
                && is_called
                && is_postfix(first.value)
                && uses(next.value, next.name) == 1
            {
                self.found.push((next.name.to_string(), next.name.span().start().line));
            }
        }
        visit::visit_block(self, block);
    }
}

struct LetStatement<'a> {
    name: &'a syn::Ident,
    is_typed: bool,
    value: &'a Expr,
}

fn let_statement(statement: &Stmt) -> Option<LetStatement<'_>> {
    let Stmt::Local(local) = statement else {
        return None;
    };
    let init = local.init.as_ref().filter(|init| init.diverge.is_none())?;
    let (pattern, is_typed) = match &local.pat {
        Pat::Type(typed) => (&*typed.pat, true),
        pattern => (pattern, false),
    };
    match pattern {
        Pat::Ident(pattern) if pattern.mutability.is_none() => Some(LetStatement {
            name: &pattern.ident,
            is_typed,
            value: &init.expr,
        }),
        _ => None,
    }
}

/// Calls whose result borrows their receiver. The receiver of such a call needs a name, so that the
/// receiver exists long enough.
const BORROWING: [&str; 7] = [
    "as_bytes", "as_deref", "as_ref", "as_slice", "as_str", "iter", "to_str",
];

/// Returns the name at the start of a chain of calls. Returns `None` if the first call borrows its
/// receiver.
fn receiver(chain: &Expr) -> Option<&syn::Ident> {
    let mut at = chain;
    let mut first_call = None;
    loop {
        at = match at {
            Expr::MethodCall(call) => {
                first_call = Some(&call.method);
                &call.receiver
            }
            Expr::Try(tried) => &tried.expr,
            Expr::Path(path) => {
                let call = first_call.filter(|call| !BORROWING.iter().any(|name| call == name));
                return call.and(path.path.get_ident());
            }
            _ => return None,
        };
    }
}

/// Returns true if a call can be appended to an expression without putting the expression into
/// brackets.
fn is_postfix(value: &Expr) -> bool {
    match value {
        Expr::MethodCall(_) | Expr::Call(_) | Expr::Path(_) | Expr::Field(_) | Expr::Try(_) => true,
        Expr::Macro(called) => called.mac.path.is_ident("format"),
        _ => false,
    }
}

/// Counts the uses of a name in a value, including uses in format strings.
fn uses(value: &Expr, name: &syn::Ident) -> usize {
    let mut uses = Uses { name, count: 0 };
    uses.visit_expr(value);
    uses.count
}

struct Uses<'a> {
    name: &'a syn::Ident,
    count: usize,
}

impl<'ast> Visit<'ast> for Uses<'_> {
    fn visit_ident(&mut self, ident: &'ast syn::Ident) {
        self.count += usize::from(ident == self.name);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.count += count(called.tokens.clone(), &self.name.to_string());
    }
}

fn count(tokens: TokenStream, name: &str) -> usize {
    let of_token = |token: TokenTree| match token {
        TokenTree::Group(group) => count(group.stream(), name),
        TokenTree::Ident(ident) => usize::from(ident == name),
        TokenTree::Literal(text) => text.to_string().matches(&format!("{{{name}")).count(),
        TokenTree::Punct(_) => 0,
    };
    tokens.into_iter().map(of_token).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(body: &str) -> Vec<String> {
        let tree = Tree::from_texts(&[("a.rs", &format!("fn a() {{\n{body}\n}}"))]);
        chains(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_value_that_is_named_again_for_its_next_call_is_found() {
        let found = lines("let all = rows.iter();\nlet all: Vec<u8> = all.map(f).collect()?;");
        let what = "a.rs:3: `all` is named again for its next call: write a chain";
        assert_eq!(found, [what]);
    }

    #[test]
    fn a_name_is_right_where_a_chain_cannot_say_it() {
        for body in [
            "let all = rows.iter();\nlet rest = all.skip(1);",
            "let all = rows.iter();\nlog(1);\nlet all = all.skip(1);",
            "let all = rows.iter();\nlet all = all.skip(all.len());",
            "let text = a.b();\nlet text = text.with(format!(\"{text}\"));",
            "let sum = a + b;\nlet sum = sum.sqrt();",
            "let all: Vec<u8> = rows.collect();\nlet all = all.join(0);",
            "let all = rows();\nlet all: Vec<&str> = all.iter().map(f).collect();",
        ] {
            assert!(lines(body).is_empty(), "{body}");
        }
    }
}
