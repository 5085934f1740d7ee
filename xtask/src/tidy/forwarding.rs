//! Rule of tidy on values that wrap another value of the same trait (those that forward most of
//! their methods to it): they must forward every method. A method that is left to the trait's
//! default does not reach the wrapped value, and the compiler does not warn.

use std::collections::BTreeMap;

use super::finding::RuleViolation;
use super::source::{CodeToken, RustSource, closing};
use super::workspace::CargoWorkspace;

/// Names of the rules of this module, as findings contain them.
pub(crate) const RULES: [&str; 1] = ["forwarding"];

/// Source of a method of a trait or an implementation.
#[derive(Debug)]
struct MethodSource<'a> {
    name: &'a str,
    /// Tokens of the method's body; `None` if it has none.
    body: Option<&'a [CodeToken<'a>]>,
}

/// Checks that implementations of the workspace's traits forward every method, and adds violations
/// to `findings`.
pub(crate) fn check(workspace: &CargoWorkspace, findings: &mut Vec<RuleViolation>) {
    findings.extend(violations(workspace.sources.values()));
}

fn violations<'s>(sources: impl Iterator<Item = &'s RustSource> + Clone) -> Vec<RuleViolation> {
    let mut defaults: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources.clone() {
        let tokens = source.tokens();
        for (at, pair) in tokens.windows(2).enumerate() {
            if pair[0].text != "trait" {
                continue;
            }
            let methods = methods(&tokens, at);
            let with_body = methods.iter().filter(|method| method.body.is_some());
            let names = with_body.map(|method| method.name.to_owned()).collect();
            defaults.insert(pair[1].text.to_owned(), names);
        }
    }
    let mut violations = Vec::new();
    for source in sources {
        let tokens = source.tokens();
        for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.text == "impl") {
            let Some(name) = trait_name(&tokens, at) else { continue };
            let Some(defaults) = defaults.get(name) else { continue };
            let methods = methods(&tokens, at);
            let forwarded: Vec<&str> =
                methods.iter().filter(|method| is_forwarded(method)).map(|m| m.name).collect();
            if 2 * forwarded.len() <= methods.len() {
                continue;
            }
            let is_missing =
                |name: &&String| methods.iter().all(|method| method.name != name.as_str());
            let missing: Vec<&str> =
                defaults.iter().filter(is_missing).map(String::as_str).collect();
            if !missing.is_empty() {
                let message = format!(
                    "forwards `{}` of `{name}` and leaves `{}` to the default",
                    forwarded.join("`, `"),
                    missing.join("`, `")
                );
                let rule = RuleViolation::new("forwarding", &source.path, token.line, message);
                violations.push(rule);
            }
        }
    }
    violations
}

/// Returns the name of the trait that the `impl` at `at` implements; `None` if it implements none.
fn trait_name<'a>(tokens: &[CodeToken<'a>], at: usize) -> Option<&'a str> {
    let mut depth = 0_i32;
    let mut name = None;
    for (before, token) in tokens.iter().skip(at).zip(tokens.iter().skip(at + 1)) {
        match token.text {
            "<" => depth += 1,
            // Not the arrow of a function's type.
            ">" if before.text != "-" => depth -= 1,
            "for" if depth == 0 => return name,
            "{" | ";" => return None,
            text if depth == 0 && text.starts_with(char::is_alphabetic) => name = Some(text),
            _ => {}
        }
    }
    None
}

/// Returns the methods in the braces that follow the token `at`.
fn methods<'a>(tokens: &'a [CodeToken<'a>], at: usize) -> Vec<MethodSource<'a>> {
    let is_open = |token: &CodeToken<'_>| token.text == "{" || token.text == ";";
    let Some(open) = tokens[at..].iter().position(is_open).map(|open| at + open) else {
        return Vec::new();
    };
    let mut methods = Vec::new();
    if tokens[open].text == ";" {
        return methods;
    }
    let end = closing(tokens, open);
    let mut index = open + 1;
    while index < end {
        match tokens[index].text {
            "(" | "[" | "{" => index = closing(tokens, index) + 1,
            "fn" => {
                let name = tokens[index + 1].text;
                let mut last = index;
                while last < end && !is_open(&tokens[last]) {
                    let is_bracket = matches!(tokens[last].text, "(" | "[");
                    last = if is_bracket { closing(tokens, last) + 1 } else { last + 1 };
                }
                let mut body = None;
                if last < end && tokens[last].text == "{" {
                    let first = last;
                    last = closing(tokens, first);
                    body = Some(&tokens[first..last]);
                }
                methods.push(MethodSource { name, body });
                index = last + 1;
            }
            _ => index += 1,
        }
    }
    methods
}

/// Returns true if the body calls the method of the same name of another value.
fn is_forwarded(method: &MethodSource<'_>) -> bool {
    let Some(body) = method.body else { return false };
    body.windows(4).any(|window| {
        let [value, dot, name, open] = window else { return false };
        value.text != "self" && dot.text == "." && name.text == method.name && open.text == "("
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing_methods(text: &str) -> Vec<String> {
        let sources = [RustSource::new("a.rs", text)];
        violations(sources.iter()).iter().map(ToString::to_string).collect()
    }

    const TRAIT: &str = "pub trait Store<F>: Send {
        fn fetch(&self, f: impl Fn(u8) -> u8) -> [u8; 2];
        fn begin(&self, _number: u64) {}
        fn is_sound(&self) -> bool { true }
    }\n";

    #[test]
    fn a_wrapper_that_leaves_a_method_to_the_default_is_found() {
        let text = "impl<F: Fn() -> u8> Store<F> for Wrapper<F> {
            fn fetch(&self, f: impl Fn(u8) -> u8) -> [u8; 2] { self.inner.fetch(f) }
            fn is_sound(&self) -> bool { of_kind!(self, store => store.is_sound()) }
        }";
        assert_eq!(
            missing_methods(&format!("{TRAIT}{text}")),
            [
                "a.rs:6: forwarding: forwards `fetch`, `is_sound` of `Store` and leaves `begin` to the default"
            ]
        );
        let all = text.replacen('{', "{ fn begin(&self, n: u64) { self.inner.begin(n) }", 1);
        assert_eq!(missing_methods(&format!("{TRAIT}{all}")), Vec::<String>::new());
    }

    #[test]
    fn values_that_wrap_nothing_may_keep_defaults() {
        let text = "impl Store<u8> for Memory {
            fn fetch(&self, f: impl Fn(u8) -> u8) -> [u8; 2] { [f(self.first), 0] }
        }
        impl Memory { fn begin(&self) { self.other.begin() } }
        impl Clone for Memory { fn clone(&self) -> Self { Self(self.0.clone()) } }";
        assert_eq!(missing_methods(&format!("{TRAIT}{text}")), Vec::<String>::new());
    }
}
