//! Checks of a DCCP regression plan's text against its keys, which report all problems at once, and
//! its parser.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{CasePlan, LineRate, LinkDelay, RegressionPlan};
use crate::plan::{KeyChecker, KeyValueSet, PlanKey, PlanProblem, in_order, key};

/// Value of the key `protocol` in a plan of regressions.
pub(super) const PROTOCOL: &str = "dccp";

/// Keys of a plan of regressions, without those of its cases.
const KEYS: &[&[PlanKey]] = &[
    RegressionPlan::KEYS,
    &[key(
        "protocol",
        KeyValueSet::Choice(&[PROTOCOL]),
        "",
        "Distinguishes such plans from plans with servers.",
    )],
];

/// Keys of a case in a plan of regressions.
const CASE_KEYS: &[PlanKey] = &[
    key("case.name", KeyValueSet::Name, "", "Name of the case."),
    key("case.title", KeyValueSet::Text, "", "Description of the case, one line."),
    key(
        "case.delay",
        KeyValueSet::Text,
        "",
        "Delay of a packet each way over a link, such as 75ms.",
    ),
    key("case.rate", KeyValueSet::Text, "none", "Rate of the link, such as 100mbit."),
    key(
        "case.overhead_bytes",
        KeyValueSet::Whole(0, 1_000),
        "0",
        "Bytes of the link that a frame takes beyond its header and content.",
    ),
    key(
        "case.loss_percent",
        KeyValueSet::Number(0.001, 90.0),
        "none",
        "Percentage of packets lost each way.",
    ),
    key("case.routed", KeyValueSet::Flag, "false", "Two links with a router between them."),
    key(
        "case.linux_2007_mbps",
        KeyValueSet::Numbers(1e-3, 1e6),
        "[]",
        "Rates that Linux reached in 2007.",
    ),
    key(
        "case.accepted_mbps",
        KeyValueSet::Numbers(0.0, 1e6),
        "none",
        "Lowest and highest accepted mean of CCID 3.",
    ),
];

/// Reads a plan of regressions. See [`RegressionPlan::parse`].
pub(super) fn parse(file: &str, text: &str) -> Result<RegressionPlan, Vec<PlanProblem>> {
    let mut check = KeyChecker::new(file, text, KEYS);
    let mut table = check.read().into_inner();
    if !check.problems.is_empty() {
        return Err(in_order(check.problems));
    }
    let written = table.remove("case");
    check.table("", &table);
    check.add_missing_keys(0..0);
    let cases = match written.as_ref().map(|value| (value.span(), value.get_ref().as_array())) {
        Some((_, Some(cases))) if !cases.is_empty() => {
            cases.iter().map(|case| check_case(file, text, case)).collect()
        }
        written => {
            let span = written.map_or(0..0, |(span, _)| span);
            let help = "each case is a table under [[case]]".to_owned();
            check.add_problem(span, "at least one case is needed".to_owned(), Some(help));
            Vec::new()
        }
    };
    let all = check.problems.iter().chain(cases.iter().flat_map(|case| &case.problems));
    let mut problems: Vec<_> = all.cloned().collect();
    if !problems.is_empty() {
        return Err(in_order(problems));
    }
    let plan = match toml::from_str::<RegressionPlan>(text) {
        Ok(plan) => plan,
        Err(error) => {
            check.add_problem(error.span().unwrap_or(0..0), error.message().to_owned(), None);
            return Err(check.problems);
        }
    };
    let mut note = |check: &KeyChecker<'_>, path: &str, message: &str| {
        problems.push(check.make_problem(check.value_position(path), message.to_owned(), None));
    };
    if plan.ccids.is_empty()
        || (1..plan.ccids.len()).any(|at| plan.ccids[..at].contains(&plan.ccids[at]))
    {
        note(&check, "ccids", "`ccids` must be a list of different ones out of: 3, 2");
    }
    for (at, (case, case_check)) in plan.cases.iter().zip(&cases).enumerate() {
        if plan.cases[..at].iter().any(|other| other.name == case.name) {
            note(case_check, "case.name", "two cases have this name");
        }
        if let Some((path, message)) = objection(case) {
            note(case_check, path, message);
        }
    }
    if problems.is_empty() { Ok(plan) } else { Err(in_order(problems)) }
}

/// Checks the keys of one case of a plan of regressions.
fn check_case<'t>(file: &'t str, text: &'t str, case: &Spanned<DeValue<'t>>) -> KeyChecker<'t> {
    let mut check = KeyChecker::new(file, text, &[CASE_KEYS]);
    let Some(table) = case.get_ref().as_table() else {
        check.add_problem(case.span(), "a case must be a table".to_owned(), None);
        return check;
    };
    check.table("case.", table);
    check.add_missing_keys(case.span());
    let quantities = [
        quantity(table, "delay", |word| LinkDelay::try_from(word).err()),
        quantity(table, "rate", |word| LineRate::try_from(word).err()),
    ];
    let range = table.get("accepted_mbps");
    let is_no_pair = |value: &&Spanned<DeValue<'_>>| {
        value.get_ref().as_array().is_some_and(|list| list.len() != 2)
    };
    let range = range.filter(is_no_pair).map(|value| {
        (
            value.span(),
            "`case.accepted_mbps` must be the lowest and the highest accepted \
                        mean"
                .to_owned(),
        )
    });
    for (span, message) in quantities.into_iter().chain([range]).flatten() {
        check.add_problem(span, message, None);
    }
    check
}

/// Returns the mistake in the word of a quantity (`name` in `table`), and its position; `None` if
/// the value is not a word or has no mistake.
fn quantity(
    table: &DeTable<'_>,
    name: &str,
    refusal: impl Fn(String) -> Option<&'static str>,
) -> Option<(Range<usize>, String)> {
    let value = table.get(name)?;
    let must =
        refusal(value.get_ref().as_str().filter(|word| !word.trim().is_empty())?.to_owned())?;
    Some((value.span(), format!("`case.{name}` {must}")))
}

/// Returns the conflict of several keys of a case, and the key that the operator should look at.
fn objection(case: &CasePlan) -> Option<(&'static str, &'static str)> {
    if case.rate.is_none() && case.loss_percent.is_none() {
        return Some(("case.name", "nothing limits this case: `case.rate` or `case.loss_percent`"));
    }
    if case.loss_percent.is_some() && case.delay.seconds() == 0.0 {
        return Some(("case.delay", "`case.loss_percent` needs a delay above 0"));
    }
    if case.rate.is_none() && case.overhead_bytes > 0 {
        return Some((
            "case.overhead_bytes",
            "`case.overhead_bytes` has no effect without `case.rate`",
        ));
    }
    match case.accepted_mbps {
        Some([least, most]) if least > most => {
            Some(("case.accepted_mbps", "`case.accepted_mbps` has a minimum above its maximum"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RegressionCarrier, RegressionClock};
    use super::*;

    const HEAD: &str = "name = 'x'\ntitle = 'X'\nprotocol = 'dccp'\n";
    const CASE: &str = "[[case]]\nname = 'a'\ntitle = 'A'\ndelay = '5ms'\nloss_percent = 2\n";

    fn problems(text: &str) -> Vec<String> {
        let problems = RegressionPlan::parse("r.toml", text).expect_err("problems");
        problems.iter().map(|p| format!("{}:{}: {}", p.line, p.column, p.message)).collect()
    }

    #[test]
    fn a_small_plan_takes_the_defaults() {
        let plan = RegressionPlan::parse("r.toml", &format!("{HEAD}{CASE}")).unwrap();
        let expected = RegressionPlan {
            name: "x".to_owned(),
            title: "X".to_owned(),
            cases: plan.cases.clone(),
            ..RegressionPlan::default()
        };
        assert_eq!(plan, expected);
        let [case] = &plan.cases[..] else { panic!("{plan:?}") };
        assert_eq!((case.delay.words(), case.loss_percent), ("5ms", Some(2.0)));
        assert_eq!((case.is_routed, &case.rate, case.accepted_mbps), (false, &None, None));
    }

    #[test]
    fn the_key_table_is_the_type_with_its_defaults() {
        let fields = toml::Table::try_from(RegressionPlan::default()).unwrap();
        let of_keys = KEYS.iter().copied().flatten().filter(|key| !key.default.is_empty());
        let of_keys: Vec<_> =
            of_keys.map(|key| (key.path.to_owned(), key.default.to_owned())).collect();
        let mut of_type: Vec<_> = fields.iter().map(|(k, v)| (k.clone(), v.to_string())).collect();
        of_type.retain(|(name, _)| !["name", "title", "case"].contains(&name.as_str()));
        assert!(of_type.iter().all(|field| of_keys.contains(field)), "{of_type:?}");
        assert_eq!(of_type.len(), of_keys.len());
    }

    #[test]
    fn everything_can_be_said() {
        let text = "name = 'x'\ntitle = 'X'\nprotocol = 'dccp'\nclocks = ['real']\nccids = [2]\n\
                    carrier = 'udp'\ndatagram_bytes = 100\ntx_qlen = 9\nseconds = 2\nruns = 1\n\
                    quick_seconds = 0.5\n[[case]]\nname = 'a'\ntitle = 'A'\ndelay = '1ms'\n\
                    rate = '2mbit'\noverhead_bytes = 4\nrouted = true\nlinux_2007_mbps = [1, 2]\n\
                    accepted_mbps = [1.5, 2]\n";
        let plan = RegressionPlan::parse("r.toml", text).unwrap();
        assert_eq!((&plan.clocks[..], &plan.ccids[..]), (&[RegressionClock::Real][..], &[2][..]));
        assert_eq!(
            (plan.carrier, plan.datagram_bytes, plan.tx_qlen),
            (RegressionCarrier::Udp, 100, 9)
        );
        let case = &plan.cases[0];
        assert_eq!(case.rate.as_ref().unwrap().bits_per_s().to_bits(), 2e6_f64.to_bits());
        assert!(case.is_routed && case.linux_2007_mbps.len() == 2);
        assert_eq!(case.accepted_mbps, Some([1.5, 2.0]));
    }

    #[test]
    fn all_problems_come_at_once_with_their_places() {
        let text = "name = 'a b'\nprotocol = 'dccp'\nclocks = ['sun']\nrun = 4\n[[case]]\n\
                    name = 'a'\ntitle = 'A'\ndelay = '75'\n[[case]]\nname = 'b'\ndelay = 5\n\
                    rate = '1furlong'\nlos_percent = 4\nrouted = 1\n";
        assert_eq!(
            problems(text),
            [
                "1:1: `title` is missing",
                "1:8: `name` must be letters, digits and dashes",
                "3:10: `clocks` must be a list of different words out of: virtual, real",
                "4:1: unknown key `run`",
                "8:9: `case.delay` must be a time of at most 60s, a number with us, ms or s: 75ms",
                "9:1: `case.title` is missing",
                "11:9: `case.delay` must be a text",
                "12:8: `case.rate` must be a rate from 1kbit to 1000gbit, a number with bit, kbit, mbit or gbit",
                "13:1: unknown key `case.los_percent`",
                "14:10: `case.routed` must be true or false",
            ]
        );
        let help = |at: usize| RegressionPlan::parse("r.toml", text).unwrap_err()[at].help.clone();
        assert_eq!(help(3).as_deref(), Some("did you mean `runs`?"));
        assert_eq!(help(8).as_deref(), Some("did you mean `case.loss_percent`?"));
    }

    #[test]
    fn values_are_checked_together() {
        let text = format!(
            "{HEAD}ccids = [3, 3]\n{CASE}{CASE}accepted_mbps = [2, 1]\n\
             [[case]]\nname = 'b'\ntitle = 'B'\ndelay = '5ms'\n\
             [[case]]\nname = 'c'\ntitle = 'C'\ndelay = '0s'\nloss_percent = 1\n"
        );
        assert_eq!(
            problems(&text),
            [
                "4:9: `ccids` must be a list of different ones out of: 3, 2",
                "11:8: two cases have this name",
                "15:17: `case.accepted_mbps` has a minimum above its maximum",
                "17:8: nothing limits this case: `case.rate` or `case.loss_percent`",
                "23:9: `case.loss_percent` needs a delay above 0",
            ]
        );
        let without = format!("{HEAD}{CASE}overhead_bytes = 3\n");
        assert!(problems(&without)[0].contains("has no effect without"), "{without}");
        assert!(problems(HEAD)[0].contains("at least one case"));
        assert!(problems(&format!("{HEAD}case = 3\n"))[0].starts_with("4:8: at least one case"));
        let halves = format!("{HEAD}ccids = [2.5]\n{CASE}");
        assert!(problems(&halves)[0].starts_with("4:1"), "{:?}", problems(&halves));
        let three = format!("{HEAD}{CASE}accepted_mbps = [1, 2, 3]\n");
        assert!(problems(&three)[0].starts_with("9:"), "{:?}", problems(&three));
    }

    #[test]
    fn it_is_known_by_its_protocol() {
        assert!(RegressionPlan::is_regression("  protocol='dccp' # so\nnonsense"));
        for text in ["", "protocol = 'dns'", "[x]\nprotocol = 'dccp'", "# protocol = 'dccp'", "x"] {
            assert!(!RegressionPlan::is_regression(text), "{text}");
        }
    }
}
