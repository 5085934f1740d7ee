//! Macros of the C preprocessor with and without arguments, replaced as C does (ISO C 2011,
//! 6.10.3): arguments are replaced before they are inserted, `#` makes a string of one, `##` joins,
//! and no macro is replaced inside of itself.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use super::predefined::{PredefinedMacro, SourceLocation};
use super::token::{Hidden, PreprocessorToken, TokenKind, tokens};

/// Largest number of macro replacements for one word of a file, which bounds the time.
const REPLACEMENTS_MAX: usize = 1 << 16;
/// Largest nesting of macro arguments.
const DEPTH_MAX: usize = 32;

/// Macro of the C preprocessor: the replacement of a name.
#[derive(Clone, Debug)]
pub(super) struct Macro {
    /// Names of the macro's arguments; `None` if the macro has no parentheses.
    parameters: Option<Vec<String>>,
    /// True if the last parameter stands for all further arguments, with their commas.
    is_variadic: bool,
    body: Vec<PreprocessorToken>,
    /// Predefined macro, whose body is made where it is used; `None` for a macro of the text.
    predefined: Option<PredefinedMacro>,
}

/// Macros by their names.
pub(super) type Macros = BTreeMap<String, Macro>;

/// Error of a macro: an endless replacement, or an invalid invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MacroError {
    pub(super) origin: usize,
    pub(super) message: String,
}

impl Macro {
    /// Parses the text after the macro's name in `#define`: `(a, b) body` or ` body`.
    pub(super) fn parse(definition: &str) -> Result<Self, String> {
        let mut is_variadic = false;
        let (parameters, body) = match definition.strip_prefix('(') {
            None => (None, definition),
            Some(rest) => {
                let (names, body) =
                    rest.split_once(')').ok_or("the `)` of its arguments is missing")?;
                let mut names: Vec<String> = names
                    .split(',')
                    .map(|name| name.trim().to_owned())
                    .filter(|name| !name.is_empty())
                    .collect();
                // `...` of C, and `name...` of GNU's preprocessor.
                if let Some(last) = names.last_mut()
                    && let Some(name) = last.strip_suffix("...").map(str::trim)
                {
                    is_variadic = true;
                    *last = if name.is_empty() { "__VA_ARGS__" } else { name }.to_owned();
                }
                (Some(names), body)
            }
        };
        let mut body = tokens(body.as_bytes(), 0);
        for token in &mut body {
            if token.is_blank() {
                token.kind = TokenKind::Blank;
                token.octets = (*b" ").into();
            }
        }
        let is_blank =
            |token: Option<&PreprocessorToken>| token.is_some_and(PreprocessorToken::is_blank);
        while is_blank(body.last()) {
            body.pop();
        }
        let blanks = body.iter().take_while(|token| token.is_blank()).count();
        body.drain(..blanks);
        Ok(Self { parameters, is_variadic, body, predefined: None })
    }

    /// Creates a predefined macro, whose body is made where it is used.
    pub(super) const fn predefined(name: PredefinedMacro) -> Self {
        Self { parameters: None, is_variadic: false, body: Vec::new(), predefined: Some(name) }
    }
}

/// Source of preprocessor tokens after those that wait in an [`Expander`].
pub(super) trait TokenSource {
    /// Returns the next token; `None` at the end, or before a directive.
    fn next_token(&mut self) -> Option<PreprocessorToken>;
}

/// Source without tokens.
struct EmptySource;

impl TokenSource for EmptySource {
    fn next_token(&mut self) -> Option<PreprocessorToken> {
        None
    }
}

/// Replacement of macros among the tokens of a source.
pub(super) struct Expander<'m> {
    macros: &'m Macros,
    location: &'m mut SourceLocation,
    waiting: VecDeque<PreprocessorToken>,
    replacements: usize,
    depth: usize,
}

impl<'m> Expander<'m> {
    pub(super) const fn new(macros: &'m Macros, location: &'m mut SourceLocation) -> Self {
        Self { macros, location, waiting: VecDeque::new(), replacements: 0, depth: 0 }
    }

    /// Returns the next token in which no macro is left to be replaced.
    ///
    /// # Errors
    ///
    /// [`MacroError`]; the piece is then skipped.
    pub(super) fn next(
        &mut self,
        source: &mut dyn TokenSource,
    ) -> Result<Option<PreprocessorToken>, MacroError> {
        loop {
            let Some(token) = self.take(source) else { return Ok(None) };
            let macros = self.macros;
            let definition = token
                .word()
                .filter(|word| !token.hidden.contains(*word))
                .and_then(|word| macros.get_key_value(word));
            let Some((name, definition)) = definition else { return Ok(Some(token)) };
            if let Some(predefined) = definition.predefined {
                let text = self.location.expansion(predefined, token.origin);
                let kind = if text.starts_with('"') { TokenKind::Quoted } else { TokenKind::Word };
                let octets = text.into_bytes().into();
                return Ok(Some(PreprocessorToken { kind, octets, is_verbatim: false, ..token }));
            }
            self.replacements += 1;
            if self.replacements > REPLACEMENTS_MAX {
                self.waiting.clear();
                return Err(error(&token, format!("the expansion of `{name}` is too long")));
            }
            let mut hidden = (*token.hidden).clone();
            hidden.insert(Rc::from(name.as_str()));
            let hidden = Rc::new(hidden);
            let body = match &definition.parameters {
                None => definition.body.clone(),
                Some(parameters) => {
                    let Some(arguments) = self.arguments(source, &token, name)? else {
                        return Ok(Some(token));
                    };
                    self.substituted(definition, parameters, arguments, &token, name)?
                }
            };
            for mut piece in body.into_iter().rev() {
                piece.origin = token.origin;
                piece.is_verbatim = false;
                piece.hidden = joined(&piece.hidden, &hidden);
                self.waiting.push_front(piece);
            }
        }
    }

    fn take(&mut self, source: &mut dyn TokenSource) -> Option<PreprocessorToken> {
        self.waiting.pop_front().or_else(|| {
            if self.depth == 0 {
                self.replacements = 0;
            }
            source.next_token()
        })
    }

    /// Reads the arguments after the name of a macro; returns `None` if no parenthesis follows.
    fn arguments(
        &mut self,
        source: &mut dyn TokenSource,
        name_token: &PreprocessorToken,
        name: &str,
    ) -> Result<Option<Vec<Vec<PreprocessorToken>>>, MacroError> {
        let mut passed = Vec::new();
        loop {
            match self.take(source) {
                Some(token) if token.is_blank() => passed.push(token),
                Some(token) if token.is(b'(') => break,
                other => {
                    for token in passed.into_iter().chain(other).rev() {
                        self.waiting.push_front(token);
                    }
                    return Ok(None);
                }
            }
        }
        let (mut arguments, mut depth) = (vec![Vec::new()], 0_usize);
        loop {
            let Some(token) = self.take(source) else {
                return Err(error(name_token, format!("the `)` of `{name}` is missing")));
            };
            match &token {
                token if token.is(b'(') => depth += 1,
                token if token.is(b')') && depth == 0 => return Ok(Some(arguments)),
                token if token.is(b')') => depth -= 1,
                token if token.is(b',') && depth == 0 => {
                    arguments.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            if let Some(argument) = arguments.last_mut() {
                argument.push(token);
            }
        }
    }

    /// Returns the body of a macro with its arguments inserted.
    fn substituted(
        &mut self,
        definition: &Macro,
        parameters: &[String],
        mut arguments: Vec<Vec<PreprocessorToken>>,
        token: &PreprocessorToken,
        name: &str,
    ) -> Result<Vec<PreprocessorToken>, MacroError> {
        if parameters.is_empty()
            && arguments.iter().all(|argument| argument.iter().all(PreprocessorToken::is_blank))
        {
            arguments.clear();
        }
        if definition.is_variadic {
            join_further(&mut arguments, parameters.len() - 1);
        }
        check_count(parameters.len(), arguments.len(), token, name)?;
        let arguments: Vec<_> = arguments.into_iter().map(trimmed).collect();
        let argument_of = |token: &PreprocessorToken| {
            let word = token.word()?;
            let index = parameters.iter().position(|parameter| parameter == word)?;
            arguments.get(index)
        };
        let body = with_optional_parts(definition, &arguments);
        let mut output: Vec<PreprocessorToken> = Vec::new();
        let mut rest = body.iter().peekable();
        while let Some(piece) = rest.next() {
            if piece.is(b'#') && rest.peek().is_some_and(|next| next.is(b'#')) {
                rest.next();
                while output.last().is_some_and(PreprocessorToken::is_blank) {
                    output.pop();
                }
                while rest.peek().is_some_and(|next| next.is_blank()) {
                    rest.next();
                }
                let Some(right) = rest.next() else { break };
                // GNU's `, ## __VA_ARGS__`: without further arguments the comma goes.
                if definition.is_variadic
                    && right.word() == parameters.last().map(String::as_str)
                    && output.last().is_some_and(|left| left.is(b','))
                {
                    match argument_of(right).filter(|further| !further.is_empty()) {
                        Some(further) => output.extend(self.expanded(further)?),
                        None => drop(output.pop()),
                    }
                    continue;
                }
                let right = argument_of(right).cloned().unwrap_or_else(|| vec![right.clone()]);
                paste(&mut output, right);
            } else if piece.is(b'#') && rest.peek().is_some_and(|next| argument_of(next).is_some())
            {
                if let Some(argument) = rest.next().and_then(argument_of) {
                    output.push(quoted(argument, token));
                }
            } else if let Some(argument) = argument_of(piece) {
                let mut ahead = rest.clone().skip_while(|next| next.is_blank());
                let is_joined = ahead.next().is_some_and(|next| next.is(b'#'))
                    && ahead.next().is_some_and(|next| next.is(b'#'));
                if is_joined {
                    output.extend(argument.iter().cloned());
                } else {
                    output.extend(self.expanded(argument)?);
                }
            } else {
                output.push(piece.clone());
            }
        }
        Ok(output)
    }

    /// Returns the tokens of a macro's argument with all macros replaced.
    fn expanded(
        &mut self,
        argument: &[PreprocessorToken],
    ) -> Result<Vec<PreprocessorToken>, MacroError> {
        if self.depth == DEPTH_MAX {
            let origin = argument.first().map_or(0, |token| token.origin);
            return Err(MacroError { origin, message: "macros are nested too deeply".to_owned() });
        }
        let mut inner = Expander {
            macros: self.macros,
            location: &mut *self.location,
            waiting: argument.iter().cloned().collect(),
            replacements: self.replacements,
            depth: self.depth + 1,
        };
        let mut output = Vec::new();
        while let Some(token) = inner.next(&mut EmptySource)? {
            output.push(token);
        }
        self.replacements = inner.replacements;
        Ok(output)
    }
}

/// Returns the text `text` of a directive at `origin` with all macros replaced.
pub(super) fn expanded_text(
    macros: &Macros,
    location: &mut SourceLocation,
    origin: usize,
    text: &str,
) -> Result<String, MacroError> {
    let mut expander = Expander::new(macros, location);
    expander.waiting = tokens(text.as_bytes(), origin).into();
    let mut output = Vec::new();
    while let Some(token) = expander.next(&mut EmptySource)? {
        output.extend_from_slice(&token.octets);
    }
    Ok(String::from_utf8_lossy(&output).into_owned())
}

fn check_count(
    expected: usize,
    actual: usize,
    token: &PreprocessorToken,
    name: &str,
) -> Result<(), MacroError> {
    if expected == actual {
        return Ok(());
    }
    Err(error(token, format!("`{name}` takes {expected} arguments, not {actual}")))
}

/// Returns the body of a macro with the text in each `__VA_OPT__(...)` if there are further
/// arguments, and without it otherwise (ISO C 2023, 6.10.5.1).
fn with_optional_parts(
    definition: &Macro,
    arguments: &[Vec<PreprocessorToken>],
) -> Vec<PreprocessorToken> {
    let has_further =
        definition.is_variadic && arguments.last().is_some_and(|further| !further.is_empty());
    let mut output = Vec::with_capacity(definition.body.len());
    let mut rest = &*definition.body;
    while let Some((token, behind)) = rest.split_first() {
        rest = behind;
        let blanks = behind.iter().take_while(|token| token.is_blank()).count();
        let opens = behind.get(blanks).is_some_and(|token| token.is(b'('));
        if token.word() != Some("__VA_OPT__") || !opens {
            output.push(token.clone());
            continue;
        }
        rest = &behind[blanks + 1..];
        let mut depth = 0_usize;
        while let Some((token, behind)) = rest.split_first() {
            rest = behind;
            if token.is(b'(') {
                depth += 1;
            } else if token.is(b')') {
                if depth == 0 {
                    break;
                }
                depth -= 1;
            }
            if has_further {
                output.push(token.clone());
            }
        }
    }
    output
}

/// Joins the macro arguments after the first `count` to one, with their commas; it is empty if
/// there are none.
fn join_further(arguments: &mut Vec<Vec<PreprocessorToken>>, count: usize) {
    let further = arguments.split_off(count.min(arguments.len()));
    let mut joined = Vec::new();
    for (number, argument) in further.into_iter().enumerate() {
        if number > 0 {
            joined.extend(tokens(b",", 0));
        }
        joined.extend(argument);
    }
    if arguments.len() == count {
        arguments.push(joined);
    }
}

fn error(token: &PreprocessorToken, message: String) -> MacroError {
    MacroError { origin: token.origin, message }
}

fn joined(one: &Hidden, other: &Hidden) -> Hidden {
    if one.is_empty() {
        return Rc::clone(other);
    }
    Rc::new(one.union(other).cloned().collect())
}

/// Removes blanks at both ends of a macro's argument.
fn trimmed(mut argument: Vec<PreprocessorToken>) -> Vec<PreprocessorToken> {
    while argument.last().is_some_and(PreprocessorToken::is_blank) {
        argument.pop();
    }
    let blanks = argument.iter().take_while(|token| token.is_blank()).count();
    argument.drain(..blanks);
    argument
}

/// Joins the last token of `output` with the first of `right` (the operator `##`).
fn paste(output: &mut Vec<PreprocessorToken>, mut right: Vec<PreprocessorToken>) {
    if right.is_empty() {
        return;
    }
    let first = right.remove(0);
    match output.pop() {
        Some(left) => {
            let text = [&*left.octets, &*first.octets].concat();
            output.extend(tokens(&text, left.origin));
        }
        None => output.push(first),
    }
    output.extend(right);
}

/// Returns a string token with the text of a macro's argument (the operator `#`).
fn quoted(argument: &[PreprocessorToken], token: &PreprocessorToken) -> PreprocessorToken {
    let mut octets = vec![b'"'];
    for piece in argument {
        if piece.is_blank() {
            octets.push(b' ');
        } else {
            octets.extend_from_slice(&piece.octets);
        }
    }
    octets.push(b'"');
    PreprocessorToken {
        kind: TokenKind::Quoted,
        octets: octets.into(),
        origin: token.origin,
        is_verbatim: false,
        hidden: Hidden::default(),
    }
}
