//! Reads the statements of a dhcpd.conf to its model.

mod declaration;
mod host;
mod parameter;
mod prefix6;

use crate::expression::{ExpressionFault, ExpressionReader};
use crate::lexer::{DhcpdToken, FilePosition};
use crate::model::{DeclaredPool, DhcpdModel};
use crate::note::{ConversionError, Findings};
use crate::options::OptionRegistry;
use crate::settings::{Branch, ScopeSettings};
use crate::statement::DhcpdStatement;

/// Help for conditions that Kea's language lacks.
const TEST_HELP: &str = "write a client class with a `test` in Kea's language";

/// Reader of statements.
pub(crate) struct ModelReader {
    pub(crate) registry: OptionRegistry,
    pub(crate) model: DhcpdModel,
    pub(crate) findings: Findings,
}

/// Kind of the scope that a statement is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    Global,
    Network(usize),
    Subnet(usize),
    Pool,
    Host,
    Class,
    Branch,
}

impl ModelReader {
    pub(crate) fn new(is_v6: bool, findings: Findings) -> Self {
        let registry = OptionRegistry::new(is_v6);
        Self { registry, model: DhcpdModel::default(), findings }
    }

    /// Reads the statements of the whole file.
    pub(crate) fn read(&mut self, statements: &[DhcpdStatement]) {
        self.define_options(statements);
        let global = self.scope(statements, ScopeKind::Global);
        self.model.global = global;
        let outer = ScopeSettings::default();
        // Pools and subclasses refer to classes, and hosts to subnets.
        self.declarations(statements, ScopeKind::Global, &outer);
    }

    /// Reads the definitions of options, wherever they are.
    fn define_options(&mut self, statements: &[DhcpdStatement]) {
        for statement in statements {
            if let Err(error) = self.registry.define(statement) {
                self.findings.error(error);
            }
            self.define_options(statement.block());
        }
    }

    pub(crate) fn error(&mut self, at: FilePosition, message: impl Into<String>) {
        self.findings.error(ConversionError::new(at, message));
    }

    /// Returns the settings that `statements` give a scope; declarations are left to others.
    pub(crate) fn scope(
        &mut self,
        statements: &[DhcpdStatement],
        kind: ScopeKind,
    ) -> ScopeSettings {
        let mut settings = ScopeSettings::default();
        let mut rest = statements;
        while let Some((statement, after)) = rest.split_first() {
            rest = after;
            match statement.keyword().as_str() {
                "if" => {
                    let is_more = |next: &&DhcpdStatement| {
                        matches!(next.keyword().as_str(), "elsif" | "else" | "elseif")
                    };
                    let count = rest.iter().take_while(is_more).count();
                    let (branches, after) = rest.split_at(count);
                    self.conditional(statement, branches, &mut settings);
                    rest = after;
                }
                "elsif" | "else" => self.error(statement.at, "there is no `if` before this"),
                "switch" => self.switch(statement, &mut settings),
                _ if is_declaration(statement) => {}
                _ => self.parameter(statement, kind, &mut settings),
            }
        }
        settings
    }

    /// Reads the chain of an `if` and its `elsif` and `else`.
    fn conditional(
        &mut self,
        first: &DhcpdStatement,
        others: &[DhcpdStatement],
        settings: &mut ScopeSettings,
    ) {
        let mut earlier: Vec<String> = Vec::new();
        for statement in core::iter::once(first).chain(others) {
            let is_else = statement.begins(&["else"]);
            let skipped = if statement.begins(&["else", "if"]) { 2 } else { 1 };
            let words = statement.after(skipped);
            let mut parts: Vec<String> =
                earlier.iter().map(|test| format!("not ({test})")).collect();
            if !(is_else && words.is_empty()) {
                let mut reader = ExpressionReader::new(words, &self.registry, statement.at);
                match reader.whole_condition() {
                    Ok(test) => {
                        earlier.push(test.clone());
                        parts.push(test);
                    }
                    Err(fault) => {
                        self.left_out_condition(first, others, fault);
                        return;
                    }
                }
            }
            let inner = self.scope(statement.block(), ScopeKind::Branch);
            push_branches(settings, statement.at, parts, inner);
        }
    }

    fn left_out_condition(
        &mut self,
        first: &DhcpdStatement,
        others: &[DhcpdStatement],
        fault: ExpressionFault,
    ) {
        let count = first.block().len()
            + others.iter().map(|statement| statement.block().len()).sum::<usize>();
        let effect = format!("{count} statements depend on it, and {}", fault.message);
        self.findings.note(fault.at, "if", effect, TEST_HELP);
    }

    /// Reads a `switch` as a chain of conditions.
    fn switch(&mut self, statement: &DhcpdStatement, settings: &mut ScopeSettings) {
        let mut reader = ExpressionReader::new(statement.after(1), &self.registry, statement.at);
        let data = match reader.data() {
            Ok(data) => data,
            Err(fault) => {
                let help = TEST_HELP;
                self.findings.note(fault.at, "switch", fault.message, help);
                return;
            }
        };
        let cases = cases(statement.block());
        let mut all_tests: Vec<String> = Vec::new();
        for case in &cases {
            let tests = case.labels.iter().filter_map(|label| {
                let mut words = label.words.get(1..).unwrap_or_default().to_vec();
                trim_colon(&mut words);
                let mut reader = ExpressionReader::new(&words, &self.registry, label.at);
                let value = reader.whole_data().ok()?;
                Some(crate::expression::equality(&data, &value))
            });
            let tests: Vec<String> = tests.collect();
            let is_default = case.labels.iter().any(|label| !label.begins(&["case"]));
            all_tests.extend(tests.iter().cloned());
            let own = tests.join(" or ");
            // A default belongs after all cases; dhcpd has it last, too.
            let test = if is_default {
                let others: Vec<String> = all_tests
                    .iter()
                    .filter(|test| !tests.contains(test))
                    .map(|test| format!("not ({test})"))
                    .collect();
                others.join(" and ")
            } else {
                own
            };
            let inner = self.scope(&case.statements, ScopeKind::Branch);
            let at = case.labels.first().map_or(statement.at, |label| label.at);
            push_branches(settings, at, vec![test], inner);
        }
    }

    /// Reads the ranges of a scope to a pool with `settings`.
    pub(crate) fn pool(
        &mut self,
        statements: &[DhcpdStatement],
        at: FilePosition,
        settings: ScopeSettings,
    ) -> DeclaredPool {
        let mut pool = DeclaredPool { at, settings, ..DeclaredPool::default() };
        for statement in statements {
            match statement.keyword().as_str() {
                "range" => self.range(statement, &mut pool),
                "range6" => self.range6(statement, &mut pool),
                "prefix6" => self.prefix6(statement, &mut pool),
                _ => {}
            }
        }
        pool
    }
}

/// Part of a `switch`: labels, and the statements up to `break`.
struct SwitchCase<'s> {
    labels: Vec<&'s DhcpdStatement>,
    statements: Vec<DhcpdStatement>,
}

fn cases(statements: &[DhcpdStatement]) -> Vec<SwitchCase<'_>> {
    let mut cases: Vec<SwitchCase<'_>> = Vec::new();
    let mut is_open = false;
    for statement in statements {
        let keyword = statement.keyword();
        let is_label = matches!(keyword.as_str(), "case" | "default" | "default:");
        if is_label {
            match cases.last_mut().filter(|case| is_open && case.statements.is_empty()) {
                Some(case) => case.labels.push(statement),
                None => {
                    cases.push(SwitchCase { labels: vec![statement], statements: Vec::new() });
                }
            }
            is_open = true;
        } else if keyword == "break" {
            is_open = false;
        } else if let Some(case) = cases.last_mut().filter(|_| is_open) {
            case.statements.push(statement.clone());
        }
    }
    cases
}

/// Removes the colon that ends a label.
fn trim_colon(words: &mut Vec<DhcpdToken>) {
    use crate::lexer::DhcpdTokenKind;
    if let Some(last) = words.last_mut()
        && let DhcpdTokenKind::Word(word) = &mut last.kind
    {
        word.pop();
        if word.is_empty() {
            words.pop();
        }
    }
}

/// Adds `inner` to the branches of `settings` under all of `parts`; branches of `inner` become
/// branches of their own.
fn push_branches(
    settings: &mut ScopeSettings,
    at: FilePosition,
    parts: Vec<String>,
    mut inner: ScopeSettings,
) {
    let own: Vec<String> = parts.into_iter().map(|part| bracketed(&part)).collect();
    let test = own.join(" and ");
    let nested = core::mem::take(&mut inner.branches);
    settings.branches.push(Branch { at, test: test.clone(), settings: inner });
    for branch in nested {
        let test = format!("{test} and {}", bracketed(&branch.test));
        settings.branches.push(Branch { test, ..branch });
    }
}

/// Returns `test` in parentheses unless it is one.
pub(crate) fn bracketed(test: &str) -> String {
    let is_simple = test.starts_with("not (") || !(test.contains(" and ") || test.contains(" or "));
    if is_simple { test.to_owned() } else { format!("({test})") }
}

/// Returns true if `statement` declares something, rather than set a parameter.
pub(crate) fn is_declaration(statement: &DhcpdStatement) -> bool {
    let keyword = statement.keyword();
    let is_named = matches!(
        keyword.as_str(),
        "shared-network" | "subnet" | "subnet6" | "pool" | "pool6" | "host" | "class" | "subclass"
    );
    let ranges = ["range", "range6", "prefix6", "hardware", "fixed-address", "fixed-address6"];
    is_named
        || (keyword == "group" && statement.body.is_some())
        || ranges.contains(&keyword.as_str())
        || matches!(keyword.as_str(), "fixed-prefix6" | "match" | "spawn" | "lease" | "server-duid")
        || keyword == "host-identifier"
}
