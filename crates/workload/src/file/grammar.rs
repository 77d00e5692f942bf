//! Checks the clauses of a statement, which must be in CQL's order, and the columns that they name.
//!
//! The module checks only the structure, because Cassandra checks the values. If a clause begins
//! with an unknown word, the word is a typing error, which would otherwise be found only during the
//! run.
//!
//! The file is long because it contains a parser for each clause.

use super::statement::Verb;
use crate::schema::{Table, Token, TokenKind};
use yaml::did_you_mean;

#[derive(Debug, Default)]
struct Clauses {
    /// Every column name in the statement, with its offset.
    columns: Vec<(String, usize)>,
    /// Columns that the WHERE clause compares with `=` or IN, or that an INSERT lists.
    fixed: Vec<String>,
    /// Columns that an UPDATE sets or an INSERT lists.
    set: Vec<String>,
    /// True if an INSERT takes its columns from a JSON text.
    is_json: bool,
    /// Offset of the clause that identifies rows, which is the WHERE clause or the list of columns.
    /// `None` if the statement has no such clause.
    rows_at: Option<usize>,
}

/// A mistake, with its offset, message and hint.
pub(super) type GrammarMistake = (usize, String, Option<String>);

/// Checks that the clauses belong to CQL, that the columns belong to the table, and that a write
/// contains the key of its row or partition.
pub(super) fn check(
    tokens: &[Token],
    verb: Verb,
    table: &Table,
) -> Result<(), Vec<GrammarMistake>> {
    let found = clauses(tokens, verb).map_err(|fault| vec![fault])?;
    let unknown: Vec<GrammarMistake> = found
        .columns
        .iter()
        .filter(|(name, _)| table.column(name).is_none())
        .map(|(name, at)| {
            let known = table.columns.iter().map(|column| column.name.as_str());
            let message = format!("the table {} has no column `{name}`", table.name);
            (*at, message, yaml::did_you_mean(name, known))
        })
        .collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    if verb == Verb::Select || found.is_json {
        return Ok(());
    }
    let column = |name: &String| table.column(name);
    let set: Vec<usize> = found.set.iter().filter_map(column).collect();
    let values = || set.iter().filter(|&&column| !table.is_key(column));
    // A write that changes only static columns does not need clustering columns.
    let shared = values().next().is_some() && values().all(|&at| table.columns[at].is_static);
    let one_row = verb != Verb::Delete && !shared;
    let clustering = if one_row { &table.clustering[..] } else { &[] };
    let needed = table.partition_key.iter().chain(clustering);
    let names = needed.map(|&at| table.columns[at].name.as_str());
    let missing: Vec<&str> = names.filter(|name| !found.fixed.iter().any(|f| f == name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "this {} does not select which {} it affects: {} missing from the key",
        format!("{verb:?}").to_uppercase(),
        if one_row { "row" } else { "partition" },
        missing.join(", ")
    );
    let hint = format!("{} = :{0}", missing[0]);
    Err(vec![(found.rows_at.unwrap_or(0), message, Some(hint))])
}

/// Parses the clauses of a statement. The statement's table must exist.
fn clauses(tokens: &[Token], verb: Verb) -> Result<Clauses, GrammarMistake> {
    let mut reader = Reader {
        tokens,
        at: 1,
        found: Clauses::default(),
    };
    match verb {
        Verb::Select => reader.select()?,
        Verb::Insert => reader.insert()?,
        Verb::Update => reader.update()?,
        Verb::Delete => reader.delete()?,
    }
    Ok(reader.found)
}

/// Words that may follow a value, and that are not values themselves.
const AFTER_VALUES: [&str; 12] = [
    "and", "where", "if", "using", "group", "order", "per", "limit", "allow", "with", "set", "from",
];

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    found: Clauses,
}

impl Reader<'_> {
    fn token(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is_word(&self, word: &str) -> bool {
        self.token()
            .is_some_and(|token| token.kind == TokenKind::Word && token.text == word)
    }

    fn is(&self, symbol: &str) -> bool {
        self.token()
            .is_some_and(|token| token.kind == TokenKind::Symbol && token.text == symbol)
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    /// Returns the mistake that the current word is not permitted here.
    fn fault<T>(&self, expected: &[&str]) -> Result<T, GrammarMistake> {
        let expected: Vec<String> = expected.iter().map(|word| word.to_uppercase()).collect();
        let known = || expected.iter().map(String::as_str);
        match self.token() {
            Some(token) => {
                let message = format!("`{}` is not allowed here", token.text);
                Err((token.at, message, did_you_mean(&token.text, known())))
            }
            None => {
                let last = self.tokens.last().map_or(0, |token| token.at);
                let known = expected.join(", ");
                Err((last, format!("the statement ends before {known}"), None))
            }
        }
    }

    fn need(&mut self, word: &str) -> Result<(), GrammarMistake> {
        if self.word(word) {
            Ok(())
        } else {
            self.fault(&[word])
        }
    }

    fn need_symbol(&mut self, symbol: &str) -> Result<(), GrammarMistake> {
        if self.symbol(symbol) {
            Ok(())
        } else {
            self.fault(&[symbol])
        }
    }

    /// Reads a name and its offset. The name is in the form that the table definition uses.
    fn name(&mut self) -> Result<(String, usize), GrammarMistake> {
        let is_name = |token: &&Token| match token.kind {
            TokenKind::Word => !token.text.starts_with(|c: char| c.is_ascii_digit()),
            TokenKind::Quoted => true,
            TokenKind::Text | TokenKind::Symbol => false,
        };
        match self.token().filter(is_name) {
            Some(token) => {
                let name = (token.text.clone(), token.at);
                self.at += 1;
                Ok(name)
            }
            None => self.fault(&["a name"]),
        }
    }

    fn column(&mut self) -> Result<String, GrammarMistake> {
        let (name, at) = self.name()?;
        self.found.columns.push((name.clone(), at));
        Ok(name)
    }

    /// Skips an opening parenthesis, and everything up to and including its closing parenthesis.
    fn balanced(&mut self) -> Result<(), GrammarMistake> {
        let mut depth = 0;
        while let Some(token) = self.token() {
            if token.kind == TokenKind::Symbol {
                match token.text.as_str() {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" => depth -= 1,
                    _ => {}
                }
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
        self.fault(&[")"])
    }

    fn select(&mut self) -> Result<(), GrammarMistake> {
        let mut item = self.at;
        while !self.is_word("from") {
            if self.token().is_none() {
                return self.fault(&["from"]);
            }
            if self.is("(") || self.is("[") || self.is("{") {
                self.balanced()?
            } else {
                self.at += 1
            }
            if self.is(",") || self.is_word("from") {
                // The item consists only of a name, perhaps with an alias.
                let alone = self.at - item == 1;
                let renamed = self.tokens.get(item + 1).is_some_and(|t| t.text == "as");
                let first = &self.tokens[item];
                let counted = first.text.starts_with(|c: char| c.is_ascii_digit());
                let is_name = matches!(first.kind, TokenKind::Word | TokenKind::Quoted) && !counted;
                if is_name && (alone || renamed) {
                    self.found.columns.push((first.text.clone(), first.at));
                }
                item = self.at + 1;
            }
        }
        self.at += 1;
        self.table()?;
        self.tail(&["where", "group", "order", "per", "limit", "allow", "with"])
    }

    fn insert(&mut self) -> Result<(), GrammarMistake> {
        self.need("into")?;
        self.table()?;
        if self.word("json") {
            self.found.is_json = true;
            self.term()?;
            if self.word("default") && !self.word("null") && !self.word("unset") {
                return self.fault(&["null", "unset"]);
            }
            return self.tail(&["if", "using"]);
        }
        self.found.rows_at = self.token().map(|token| token.at);
        self.need_symbol("(")?;
        loop {
            let name = self.column()?;
            self.found.fixed.push(name.clone());
            self.found.set.push(name);
            if !self.symbol(",") {
                break;
            }
        }
        self.need_symbol(")")?;
        self.need("values")?;
        if self.is("(") {
            self.balanced()?
        } else {
            return self.fault(&["("]);
        }
        self.tail(&["if", "using"])
    }

    fn update(&mut self) -> Result<(), GrammarMistake> {
        self.table()?;
        if self.word("using") {
            self.using()?;
        }
        self.need("set")?;
        loop {
            let name = self.column()?;
            self.found.set.push(name);
            self.part_of_column()?;
            let _ = self.symbol("+") || self.symbol("-");
            self.need_symbol("=")?;
            self.term()?;
            if !self.symbol(",") {
                break;
            }
        }
        if self.is_word("where") {
            self.tail(&["where", "if"])
        } else {
            self.fault(&["where"])
        }
    }

    fn delete(&mut self) -> Result<(), GrammarMistake> {
        while !self.is_word("from") {
            self.column()?;
            self.part_of_column()?;
            if !self.symbol(",") && !self.is_word("from") {
                return self.fault(&["from"]);
            }
        }
        self.at += 1;
        self.table()?;
        if self.word("using") {
            self.using()?;
        }
        if self.is_word("where") {
            self.tail(&["where", "if"])
        } else {
            self.fault(&["where"])
        }
    }

    fn table(&mut self) -> Result<(), GrammarMistake> {
        self.name()?;
        if self.symbol(".") {
            self.name()?;
        }
        Ok(())
    }

    /// Reads an element of a collection column, or a field of a column.
    fn part_of_column(&mut self) -> Result<(), GrammarMistake> {
        if self.is("[") {
            return self.balanced();
        }
        if self.symbol(".") {
            self.name()?;
        }
        Ok(())
    }

    /// Reads the remaining clauses up to the end of the statement. The clauses must have the given
    /// order, and each clause may occur at most once.
    fn tail(&mut self, clauses: &[&str]) -> Result<(), GrammarMistake> {
        let (mut left, mut may_go_on) = (clauses, false);
        loop {
            if self.token().is_none() || self.is(";") {
                return Ok(());
            }
            let Some(next) = left.iter().position(|clause| self.is_word(clause)) else {
                let go_on = if may_go_on { &["and"][..] } else { &[] };
                return self.fault(&[go_on, left].concat());
            };
            let clause = left[next];
            left = &left[next + 1..];
            let at = self.token().map(|token| token.at);
            self.at += 1;
            match clause {
                "where" => {
                    self.found.rows_at = at;
                    self.relations(true)?;
                }
                "group" => {
                    self.need("by")?;
                    self.list(|reader| reader.column().map(drop))?;
                }
                "order" => {
                    self.need("by")?;
                    self.list(Self::ordering)?;
                }
                "per" => {
                    self.need("partition")?;
                    self.need("limit")?;
                    self.term()?;
                }
                "limit" => self.term()?,
                "allow" => self.need("filtering")?,
                "if" if self.word("not") => self.need("exists")?,
                "if" if self.word("exists") => {}
                "if" => self.relations(false)?,
                "using" => self.using()?,
                // The rest of the statement contains the options of an index, which the server
                // checks.
                _ => self.at = self.tokens.len(),
            }
            may_go_on = matches!(clause, "where" | "using" | "if");
        }
    }

    fn list(
        &mut self,
        one: impl Fn(&mut Self) -> Result<(), GrammarMistake>,
    ) -> Result<(), GrammarMistake> {
        one(self)?;
        while self.symbol(",") {
            one(self)?;
        }
        Ok(())
    }

    fn ordering(&mut self) -> Result<(), GrammarMistake> {
        self.column()?;
        if self.word("ann") {
            self.need("of")?;
            return self.term();
        }
        let _ = self.word("asc") || self.word("desc");
        Ok(())
    }

    fn using(&mut self) -> Result<(), GrammarMistake> {
        loop {
            if !(self.word("ttl") || self.word("timestamp")) {
                return self.fault(&["ttl", "timestamp"]);
            }
            self.term()?;
            if !self.word("and") {
                return Ok(());
            }
        }
    }

    fn relations(&mut self, is_where: bool) -> Result<(), GrammarMistake> {
        loop {
            self.relation(is_where)?;
            if !self.word("and") {
                return Ok(());
            }
        }
    }

    fn relation(&mut self, is_where: bool) -> Result<(), GrammarMistake> {
        let is_token =
            self.is_word("token") && self.tokens.get(self.at + 1).is_some_and(|t| t.text == "(");
        self.at += usize::from(is_token);
        let mut names = Vec::new();
        if self.symbol("(") {
            loop {
                names.push(self.column()?);
                if !self.symbol(",") {
                    break;
                }
            }
            self.need_symbol(")")?;
        } else {
            names.push(self.column()?);
            self.part_of_column()?;
        }
        let _ = self.word("not");
        let is_fixed = self.is("=") || self.is_word("in");
        if is_where && is_fixed && !is_token {
            self.found.fixed.append(&mut names);
        }
        if self.word("in") {
            return if self.is("(") {
                self.balanced()
            } else {
                self.term()
            };
        }
        if self.word("is") {
            self.need("not")?;
            return self.need("null");
        }
        if self.word("between") {
            self.term()?;
            self.need("and")?;
        } else if self.word("contains") {
            self.word("key");
        } else if !self.word("like") {
            let compared = self.symbol("!") || self.symbol("<") || self.symbol(">");
            let equal = self.symbol("=");
            if !compared && !equal {
                return self.fault(&["=", "in", "contains", "like", "is", "between"]);
            }
        }
        self.term()
    }

    /// Reads a term, which is a constant, a marker, a call, a collection or a sum of these.
    fn term(&mut self) -> Result<(), GrammarMistake> {
        loop {
            while self.symbol("+") || self.symbol("-") {}
            self.value()?;
            if !["+", "-", "*", "/", "%"].iter().any(|sign| self.symbol(sign)) {
                return Ok(());
            }
        }
    }

    fn value(&mut self) -> Result<(), GrammarMistake> {
        let Some(token) = self.token() else {
            return self.fault(&["a value"]);
        };
        match (token.kind, token.text.as_str()) {
            (TokenKind::Text, _) | (TokenKind::Symbol, "?") => self.at += 1,
            (TokenKind::Symbol, ":") => self.at += 2,
            (TokenKind::Symbol, "[" | "{") => self.balanced()?,
            (TokenKind::Symbol, "(") => {
                self.balanced()?;
                // In `(int) ?`, the parentheses contain the type of the value.
                let is_cast = self.token().is_some_and(|next| match next.kind {
                    TokenKind::Word => !AFTER_VALUES.contains(&next.text.as_str()),
                    TokenKind::Symbol => ["?", ":"].contains(&next.text.as_str()),
                    TokenKind::Text => true,
                    TokenKind::Quoted => false,
                });
                if is_cast {
                    self.value()?;
                }
            }
            (TokenKind::Word, word) if AFTER_VALUES.contains(&word) => {
                return self.fault(&["a value"]);
            }
            (TokenKind::Word | TokenKind::Quoted, _) => {
                self.at += 1;
                while self.symbol(".") {
                    self.at += 1;
                }
                if self.is("(") {
                    self.balanced()?;
                }
            }
            _ => return self.fault(&["a value"]),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
