//! Classes that the test of a client class refers to.

use dhcp_config::expression::{Condition, TextExpression};
use dhcp_config::{ClassTest, ClientClass};

/// Calls `visit` with each class name that a `member` of the test refers to.
pub(super) fn members(test: &ClassTest, visit: &mut dyn FnMut(&str)) {
    match test {
        ClassTest::Test { condition, .. } => in_condition(condition, visit),
        ClassTest::Template { text, .. } => in_text(text, visit),
    }
}

/// Returns, for each client class, true if its evaluation has to wait until the client's
/// reservation is looked up: its test refers to `KNOWN` or `UNKNOWN`, or to an earlier class that
/// has to wait. For a template, Kea only considers direct references to `KNOWN` and `UNKNOWN`.
pub(super) fn late<C, B>(classes: &[ClientClass<C, B>]) -> Vec<bool> {
    let mut late = std::collections::BTreeSet::from(["KNOWN", "UNKNOWN"]);
    classes
        .iter()
        .map(|class| {
            let is_template = matches!(class.test, Some(ClassTest::Template { .. }));
            let mut is_late = false;
            if let Some(test) = &class.test {
                members(test, &mut |name| {
                    is_late |= if is_template {
                        matches!(name, "KNOWN" | "UNKNOWN")
                    } else {
                        late.contains(name)
                    };
                });
            }
            if is_late {
                late.insert(&class.name);
            }
            is_late
        })
        .collect()
}

/// Calls `visit` with each class name that a `member` of the expression `text` refers to.
pub(crate) fn visit_members(text: &TextExpression, visit: &mut dyn FnMut(&str)) {
    in_text(text, visit);
}

fn in_condition(condition: &Condition, visit: &mut dyn FnMut(&str)) {
    match condition {
        Condition::Equal(left, right) => {
            in_text(left, visit);
            in_text(right, visit);
        }
        Condition::Exists(_) => {}
        Condition::Member(name) => visit(name),
        Condition::Matches(_, text) => in_text(text, visit),
        Condition::Not(condition) => in_condition(condition, visit),
        Condition::All { parts, .. } | Condition::Any { parts, .. } => {
            parts.iter().for_each(|part| in_condition(part, visit));
        }
    }
}

fn in_text(text: &TextExpression, visit: &mut dyn FnMut(&str)) {
    match text {
        TextExpression::Literal(_) | TextExpression::Value(_) => {}
        TextExpression::Concat(parts) => parts.iter().for_each(|part| in_text(part, visit)),
        TextExpression::Substring { of, .. } | TextExpression::Convert(_, of) => in_text(of, visit),
        TextExpression::Split { of, delimiters: other, .. }
        | TextExpression::Hex { of, separator: other } => {
            in_text(of, visit);
            in_text(other, visit);
        }
        TextExpression::Choice { condition, then, otherwise, .. } => {
            in_condition(condition, visit);
            in_text(then, visit);
            in_text(otherwise, visit);
        }
    }
}
