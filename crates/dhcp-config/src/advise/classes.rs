//! Judges client classes and expressions: lists of clients, many tests, long regular expressions.

use crate::expression::{Condition, Field4, OptionPath, Term, TextExpression};
use crate::shared::ClassTest;
use crate::source::SourcePosition;

use super::facts::{ClassFacts, ConfigFacts};
use super::fault::PerformanceFault;
use super::measured;
use super::{FindingCollector, grouped_count};

/// Number of comparisons of a client's identity in one class test from which on `godwit advise`
/// takes the class for a list of clients; with fewer, a few machines get special treatment.
const CLIENTS_OF_A_CLASS: usize = 4;
/// Number of comparisons of a client's identity in all class tests together from which on `godwit
/// advise` takes classes of a few clients each for a list of clients.
const CLIENTS_OF_ALL_CLASSES: usize = 8;
/// Fraction of leases per second lost to client classes from which on `godwit advise` reports their
/// number.
const CLASSES_SHARE: f64 = 0.10;
/// Number of characters from which on a regular expression is long; an expression that describes a
/// name is shorter.
const LONG_REGEX: usize = 64;

pub(super) fn judge(facts: &ConfigFacts<'_>, report: &mut FindingCollector) {
    let tested: Vec<TestedClass<'_>> = facts
        .classes
        .iter()
        .filter_map(|class| {
            Some(TestedClass { class, metrics: ExpressionMetrics::from_test(class.test?) })
        })
        .collect();
    let each: Vec<&TestedClass<'_>> =
        tested.iter().filter(|test| test.metrics.clients >= CLIENTS_OF_A_CLASS).collect();
    let few: Vec<&TestedClass<'_>> = tested
        .iter()
        .filter(|test| (1..CLIENTS_OF_A_CLASS).contains(&test.metrics.clients))
        .collect();
    let clients = each.iter().map(|test| test.metrics.clients).sum();
    report.add(
        PerformanceFault::EnumeratedClients,
        positions(&each),
        measured::advised(),
        format!(
            "{} compare a client's identity with {} values, one after the other, for each message",
            grouped_count(each.len(), "class", "classes"),
            clients_text(clients)
        ),
        "make reservations for these clients and assign the class with `client-classes` of the \
         reservation: that takes one look-up",
    );
    let clients: usize = few.iter().map(|test| test.metrics.clients).sum();
    let is_list = clients >= CLIENTS_OF_ALL_CLASSES;
    if is_list {
        report.add(
            PerformanceFault::EnumeratedClients,
            positions(&few),
            measured::classes(few.len(), 0),
            format!(
                "{} match one or a few clients each, and the server tests all of them for each \
                 message",
                grouped_count(few.len(), "class", "classes")
            ),
            "make reservations for these clients and assign the class with `client-classes` of the \
             reservation, or derive the class from the identity with one `template-test`",
        );
    }
    let is_in_list = |class: &ClassFacts<'_>| is_list && few.iter().any(|t| t.class.at == class.at);
    many_classes(facts, is_in_list, report);
    long_regexes(facts, &tested, report);
}

struct TestedClass<'f> {
    class: &'f ClassFacts<'f>,
    metrics: ExpressionMetrics,
}

fn positions(tests: &[&TestedClass<'_>]) -> Vec<SourcePosition> {
    tests.iter().map(|test| test.class.at).collect()
}

fn clients_text(clients: usize) -> String {
    measured::grouped(clients as f64)
}

fn many_classes(
    facts: &ConfigFacts<'_>,
    is_reported: impl Fn(&ClassFacts<'_>) -> bool,
    report: &mut FindingCollector,
) {
    let is_counted = |class: &&ClassFacts<'_>| !class.is_additional && !is_reported(class);
    let classes: Vec<&ClassFacts<'_>> = facts.classes.iter().filter(is_counted).collect();
    let tested = classes.iter().filter(|class| class.test.is_some()).count();
    let cost = measured::classes(tested, classes.len() - tested);
    if cost.share.is_none_or(|share| share.value < CLASSES_SHARE) {
        return;
    }
    let at = facts.global.at("client-classes");
    report.add(
        PerformanceFault::ManyClasses,
        at.into_iter().collect(),
        cost,
        format!(
            "{} are evaluated for each message, {tested} of them with a test",
            grouped_count(classes.len(), "class", "classes")
        ),
        "remove classes that nothing refers to, set `only-in-additional-list` where a class only \
         adds options, and make one `template-test` of tests that compare the same field",
    );
}

fn long_regexes(
    facts: &ConfigFacts<'_>,
    tested: &[TestedClass<'_>],
    report: &mut FindingCollector,
) {
    let long = tested.iter().filter(|test| test.metrics.longest_regex >= LONG_REGEX);
    let mut longest = long.clone().map(|test| test.metrics.longest_regex).max().unwrap_or(0);
    let mut at: Vec<SourcePosition> = long.map(|test| test.class.at).collect();
    if let Some(text) = &facts.settings.flex_id.expression {
        let mut metrics = ExpressionMetrics::default();
        metrics.text(text);
        if metrics.longest_regex >= LONG_REGEX {
            longest = longest.max(metrics.longest_regex);
            let hook = facts.hooks().into_iter().find(|hook| hook.0 == "flex_id");
            let position = hook.and_then(|(_, at, parameters)| {
                Some(parameters?.at_any(&["identifier-expression"])).or(Some(at))
            });
            at.extend(position);
        }
    }
    report.add(
        PerformanceFault::LongRegex,
        at,
        measured::advised(),
        format!(
            "the server searches a field of each message with a regular expression of \
                 {longest} characters"
        ),
        "compare a part of the field with `substring` or `split`, or derive the class from the \
         field with a `template-test`",
    );
}

/// Counts of a class's expression that show whether it is expensive.
#[derive(Default)]
struct ExpressionMetrics {
    /// Number of comparisons of a client's identity with a constant in the expression.
    clients: usize,
    /// Number of characters of the expression's longest regular expression.
    longest_regex: usize,
}

impl ExpressionMetrics {
    fn from_test(test: &ClassTest) -> Self {
        let mut metrics = Self::default();
        match test {
            ClassTest::Test { condition, .. } => metrics.condition(condition),
            ClassTest::Template { text, .. } => metrics.text(text),
        }
        metrics
    }

    fn condition(&mut self, condition: &Condition) {
        match condition {
            Condition::Equal(a, b) => {
                let is_listed = (is_identity(a) && matches!(**b, TextExpression::Literal(_)))
                    || (is_identity(b) && matches!(**a, TextExpression::Literal(_)));
                self.clients += usize::from(is_listed);
                self.text(a);
                self.text(b);
            }
            Condition::Matches(pattern, text) => {
                let length = pattern.source().chars().count();
                self.longest_regex = self.longest_regex.max(length);
                self.text(text);
            }
            Condition::Not(inner) => self.condition(inner),
            Condition::All { parts, .. } | Condition::Any { parts, .. } => {
                parts.iter().for_each(|part| self.condition(part));
            }
            Condition::Exists(_) | Condition::Member(_) => {}
        }
    }

    fn text(&mut self, text: &TextExpression) {
        match text {
            TextExpression::Literal(_) | TextExpression::Value(_) => {}
            TextExpression::Concat(parts) => parts.iter().for_each(|part| self.text(part)),
            TextExpression::Substring { of, .. }
            | TextExpression::Split { of, .. }
            | TextExpression::Hex { of, .. } => {
                self.text(of);
            }
            TextExpression::Convert(_, of) => self.text(of),
            TextExpression::Choice { condition, then, otherwise, .. } => {
                self.condition(condition);
                self.text(then);
                self.text(otherwise);
            }
        }
    }
}

/// Returns true if the text `text` is the whole of an identity that tells one client from another.
/// A part of an identity, such as the vendor in a hardware address, is not enough.
fn is_identity(text: &TextExpression) -> bool {
    match text {
        TextExpression::Value(term) => match term {
            Term::Field4(Field4::HardwareAddress) | Term::RelayAddress { peer: true, .. } => true,
            // Host name (12), client identifier (61) and relay agent information (82) of DHCPv4,
            // DUID (1) of DHCPv6; code 1 of DHCPv4 is a subnet mask, which no client sends.
            Term::Option(OptionPath { codes, .. }) => {
                matches!(codes[..], [1 | 12 | 61] | [82, 1 | 2 | 6])
            }
            // Interface-Id (18), Remote-Id (37), Subscriber-Id (38), link-layer address (79).
            Term::RelayOption { path, .. } => matches!(path.codes[..], [18 | 37 | 38 | 79]),
            _ => false,
        },
        TextExpression::Convert(_, of) | TextExpression::Hex { of, .. } => is_identity(of),
        _ => false,
    }
}
