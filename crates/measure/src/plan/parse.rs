//! Checks of a plan's text against [`KEYS`], which report all problems at once, and its parser.

use core::fmt;
use core::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{KEYS, KeyValueSet, PlanKey};
use super::{DatabaseAccess, MeasuredProtocol, Plan};
use crate::statistics::LEAST_TO_DROP;

/// Mistake in the text of a plan, for the operator who wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanProblem {
    /// Name of the plan's file as the operator wrote it.
    pub file: String,
    /// Line of the mistake in the plan's file, from 1.
    pub line: usize,
    /// Column of the mistake in characters, from 1.
    pub column: usize,
    /// Description of the mistake in the plan.
    pub message: String,
    /// Advice to the operator how to correct the mistake.
    pub help: Option<String>,
    /// Text of the line with the mistake.
    pub excerpt: String,
}

impl fmt::Display for PlanProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, .. } = self;
        write!(f, "{file}:{line}:{column}: error: {message}")?;
        if !self.excerpt.is_empty() {
            write!(f, "\n{line:5} | {}\n      | {:>column$}", self.excerpt, "^")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n      = help: {help}")?;
        }
        Ok(())
    }
}

/// Reads the plan of `text`, or returns all its problems. See [`Plan::parse`].
pub(super) fn parse(file: &str, text: &str) -> Result<Plan, Vec<PlanProblem>> {
    let mut check = KeyChecker::new(file, text, KEYS);
    let table = check.read();
    if check.problems.is_empty() {
        check.table("", table.get_ref());
        check.add_missing_keys(0..0);
    }
    if check.problems.is_empty() {
        match toml::from_str::<Plan>(text) {
            Ok(plan) => {
                check.check_combinations(&plan);
                if check.problems.is_empty() {
                    return Ok(plan);
                }
            }
            Err(error) => {
                check.add_problem(error.span().unwrap_or(0..0), error.message().to_owned(), None);
            }
        }
    }
    Err(in_order(check.problems))
}

/// Sorts problems of a plan by their positions in the file.
pub(crate) fn in_order(mut problems: Vec<PlanProblem>) -> Vec<PlanProblem> {
    problems.sort_by_key(|problem| (problem.line, problem.column));
    problems
}

/// Keys of a plan, by sections.
type PlanKeys = &'static [&'static [PlanKey]];

/// Returns all keys of a plan, section by section.
fn all(keys: PlanKeys) -> impl Iterator<Item = &'static PlanKey> {
    keys.iter().copied().flatten()
}

/// Checker of a plan's text against a table of keys.
pub(crate) struct KeyChecker<'t> {
    file: &'t str,
    text: &'t str,
    keys: PlanKeys,
    /// Keys of the plan seen so far, each with the position of its value in the text.
    key_positions: Vec<(String, Range<usize>)>,
    pub(crate) problems: Vec<PlanProblem>,
}

impl<'t> KeyChecker<'t> {
    pub(crate) const fn new(file: &'t str, text: &'t str, keys: PlanKeys) -> Self {
        Self { file, text, keys, key_positions: Vec::new(), problems: Vec::new() }
    }

    /// Reads the plan's text as far as it is valid TOML.
    pub(crate) fn read(&mut self) -> Spanned<DeTable<'t>> {
        let (table, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            self.add_problem(error.span().unwrap_or(0..0), error.message().to_owned(), None);
        }
        table
    }

    /// Records a problem of the plan at `span`, with a message and advice.
    pub(crate) fn add_problem(
        &mut self,
        span: Range<usize>,
        message: String,
        help: Option<String>,
    ) {
        let problem = self.make_problem(span, message, help);
        self.problems.push(problem);
    }

    /// Returns a problem of the plan at `span` without recording it.
    pub(crate) fn make_problem(
        &self,
        span: Range<usize>,
        message: String,
        help: Option<String>,
    ) -> PlanProblem {
        let start = (0..=span.start.min(self.text.len()))
            .rev()
            .find(|&at| self.text.is_char_boundary(at))
            .unwrap_or(0);
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        PlanProblem {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message,
            help,
            excerpt: self.text[line_start..].lines().next().unwrap_or("").to_owned(),
        }
    }

    /// Checks every key of `table`, a table of the plan whose keys begin with `prefix`.
    pub(crate) fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        let keys = self.keys;
        for (name, value) in table {
            let path = format!("{prefix}{}", name.get_ref());
            let inside = format!("{path}.");
            if let Some(key) = all(keys).find(|key| key.path == path) {
                self.key_positions.push((path, value.span()));
                if let Some(message) = refusal(key.takes, value.get_ref()) {
                    let message = format!("`{}` {message}", key.path);
                    self.add_problem(value.span(), message, Some(key.meaning.to_owned()));
                }
            } else if all(keys).any(|key| key.path.starts_with(&inside)) {
                match value.get_ref().as_table() {
                    Some(table) => self.table(&inside, table),
                    None => {
                        let message = format!("`{path}` must be a table");
                        self.add_problem(value.span(), message, Some(format!("write [{path}]")));
                    }
                }
            } else {
                let help = suggestion(keys, &path);
                self.add_problem(name.span(), format!("unknown key `{path}`"), help);
            }
        }
    }

    /// Records each mandatory key that is missing in the table at `span`.
    pub(crate) fn add_missing_keys(&mut self, span: Range<usize>) {
        for key in all(self.keys).filter(|key| key.default.is_empty()) {
            if !self.key_positions.iter().any(|(path, _)| path == key.path) {
                let message = format!("`{}` is missing", key.path);
                self.add_problem(span.clone(), message, Some(key.meaning.to_owned()));
            }
        }
    }

    /// Returns the position of the value of the key `path`; the beginning of the text when the key
    /// was left out.
    pub(crate) fn value_position(&self, path: &str) -> Range<usize> {
        self.key_positions
            .iter()
            .find(|(key, _)| key == path)
            .map_or(0..0, |(_, span)| span.clone())
    }
}

impl KeyChecker<'_> {
    /// Checks the plan's settings that depend on each other.
    fn check_combinations(&mut self, plan: &Plan) {
        let search = &plan.search;
        if search.start_per_s > search.max_per_s {
            let message = format!(
                "`search.start_per_s` ({}) is above `search.max_per_s` ({})",
                search.start_per_s, search.max_per_s
            );
            self.add_problem(self.value_position("search.start_per_s"), message, None);
        }
        if plan.protocol.is_dhcp() && plan.clients.count > plan.server.pool_size {
            let message = format!(
                "{} clients do not fit into a pool of {} addresses",
                plan.clients.count, plan.server.pool_size
            );
            let help = "raise server.pool_size: an exhausted pool would be measured as loss";
            self.add_problem(self.value_position("clients.count"), message, Some(help.to_owned()));
        }
        self.runs(plan);
        self.ramp(plan);
        self.hosts(plan);
        self.exhaustion(plan);
        if plan.restart.at_s >= plan.restart.dwell_s {
            let message = format!(
                "`restart.at_s` ({}) is not within the trial of {} s",
                plan.restart.at_s, plan.restart.dwell_s
            );
            self.add_problem(self.value_position("restart.at_s"), message, None);
        }
        if plan.protocol == MeasuredProtocol::Dhcp6
            && plan.server.sharing.contains(&DatabaseAccess::TwoServers)
        {
            let message = "`two-servers` on one database are measured with DHCPv4 only".to_owned();
            self.add_problem(self.value_position("server.sharing"), message, None);
        }
        if plan.names_features()
            && (plan.names_stores() || plan.server.sharing != [DatabaseAccess::Open])
        {
            let message = "`server.features` are measured with leases in a file only".to_owned();
            let help = "leave server.stores and server.sharing out";
            self.add_problem(
                self.value_position("server.features"),
                message,
                Some(help.to_owned()),
            );
        }
        let of_dhcp4 = plan.server.features.iter().find(|feature| feature.is_dhcp4_only());
        if plan.protocol == MeasuredProtocol::Dhcp6
            && let Some(feature) = of_dhcp4
        {
            let message = format!("`{}` is measured with DHCPv4 only", feature.name());
            self.add_problem(self.value_position("server.features"), message, None);
        }
        let least_s = search.dwell_s + search.confirm_dwell_s;
        if plan.time_budget_s > 0.0 && plan.time_budget_s < least_s {
            let message = format!(
                "`time_budget_s` ({} s) has no room for one trial of the search and one confirming \
                 trial ({least_s} s)",
                plan.time_budget_s
            );
            self.add_problem(self.value_position("time_budget_s"), message, None);
        }
    }
}

impl KeyChecker<'_> {
    /// Checks that the protocol allows a ramp, and that the ramp has a step.
    fn ramp(&mut self, plan: &Plan) {
        let ramp = &plan.ramp;
        if ramp.dwell_s > 0.0 && plan.protocol.is_dhcp() {
            let message = "`ramp.dwell_s` is for DNS: its steps are Mbit/s of queries".to_owned();
            self.add_problem(self.value_position("ramp.dwell_s"), message, None);
        }
        if ramp.first_mbit_s > ramp.last_mbit_s {
            let message = format!(
                "`ramp.first_mbit_s` ({}) is above `ramp.last_mbit_s` ({})",
                ramp.first_mbit_s, ramp.last_mbit_s
            );
            self.add_problem(self.value_position("ramp.first_mbit_s"), message, None);
        }
    }

    /// Checks that a pool that runs out does so within its trial, and that the plan may choose its
    /// size.
    fn exhaustion(&mut self, plan: &Plan) {
        let exhaustion = &plan.exhaustion;
        if !exhaustion.is_wanted() {
            return;
        }
        if !plan.protocol.is_dhcp() {
            let message = "`exhaustion.dwell_s` is for DHCP: DNS has no pools".to_owned();
            self.add_problem(self.value_position("exhaustion.dwell_s"), message, None);
        }
        if exhaustion.at_s >= exhaustion.dwell_s {
            let message = format!(
                "`exhaustion.at_s` ({}) is not within the trial of {} s",
                exhaustion.at_s, exhaustion.dwell_s
            );
            self.add_problem(self.value_position("exhaustion.at_s"), message, None);
        }
        if plan.names_features() {
            let message = "`exhaustion.dwell_s` needs a plan without `server.features`".to_owned();
            let help = "features have their own pools; leave one of the two keys out";
            self.add_problem(
                self.value_position("exhaustion.dwell_s"),
                message,
                Some(help.to_owned()),
            );
        }
    }

    /// Checks that the plan's settings of machines fit together.
    fn hosts(&mut self, plan: &Plan) {
        for (path, message, help) in plan.hosts.problems() {
            self.add_problem(self.value_position(path), message, Some(help.to_owned()));
        }
    }

    /// Checks that the plan's settings of runs fit together.
    fn runs(&mut self, plan: &Plan) {
        let is_given = |path: &str| self.key_positions.iter().any(|(key, _)| key == path);
        let mut problems = Vec::new();
        if plan.has_runs() {
            if is_given("blocks.rounds") {
                let help = "a run of every server is a round; leave blocks.rounds out";
                let message = "`blocks.rounds` and `runs.count` exclude each other".to_owned();
                problems.push(("blocks.rounds", message, help));
            }
            let dropped = plan.runs.drop.at_each_end();
            if dropped > 0 && (plan.runs.count as usize) < LEAST_TO_DROP {
                let message =
                    format!("{} runs are too few to drop the best and the worst", plan.runs.count);
                let help = "a spread needs at least two runs after dropping; ISC uses nine runs";
                problems.push(("runs.count", message, help));
            }
        } else {
            for path in ["runs.drop", "runs.unconfirmed"].into_iter().filter(|p| is_given(p)) {
                let message = format!("`{path}` has no effect without `runs.count`");
                problems.push((path, message, "set `runs.count` to the number of runs"));
            }
        }
        for (path, message, help) in problems {
            self.add_problem(self.value_position(path), message, Some(help.to_owned()));
        }
    }
}

/// Returns the reason why the key does not take `value`; `None` when it does.
fn refusal(takes: KeyValueSet, value: &DeValue<'_>) -> Option<String> {
    let number = |value: &DeValue<'_>| match value {
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok().map(|n| n as f64),
        DeValue::Float(n) => n.as_str().parse().ok(),
        _ => None,
    };
    let within = |value: &DeValue<'_>, low, high| {
        number(value).is_some_and(|n: f64| (low..=high).contains(&n))
    };
    let one_of = |words: &[&str]| words.join(", ");
    let each = |test: &dyn Fn(&DeValue<'_>) -> bool| {
        value.as_array().is_some_and(|list| list.iter().all(|item| test(item.get_ref())))
    };
    let distinct = || {
        value.as_array().is_some_and(|list| {
            let words: Vec<_> = list.iter().filter_map(|item| item.get_ref().as_str()).collect();
            !words.is_empty() && (1..words.len()).all(|at| !words[..at].contains(&words[at]))
        })
    };
    let (good, must) = match takes {
        KeyValueSet::Name => {
            (value.as_str().is_some_and(is_name), "letters, digits and dashes".into())
        }
        KeyValueSet::Text => {
            (value.as_str().is_some_and(|text| !text.trim().is_empty()), "a text".to_owned())
        }
        KeyValueSet::AnyText => (value.is_str(), "a text".to_owned()),
        KeyValueSet::Texts => (
            each(&|item| item.as_str().is_some_and(|text| !text.trim().is_empty())),
            "a list of texts".to_owned(),
        ),
        KeyValueSet::Choice(words) => (
            value.as_str().is_some_and(|word| words.contains(&word)),
            format!("one of: {}", one_of(words)),
        ),
        KeyValueSet::Choices(words) => (
            each(&|item| item.as_str().is_some_and(|word| words.contains(&word))) && distinct(),
            format!("a list of different words out of: {}", one_of(words)),
        ),
        KeyValueSet::Names => (
            each(&|item| item.as_str().is_some_and(is_name)) && distinct(),
            "a list of different names".into(),
        ),
        KeyValueSet::Number(low, high) => {
            (within(value, low, high), format!("a number from {low} to {high}"))
        }
        KeyValueSet::Numbers(low, high) => (
            each(&|item| within(item, low, high)),
            format!("a list of numbers from {low} to {high}"),
        ),
        KeyValueSet::Whole(low, high) => (
            value.is_integer() && within(value, low as f64, high as f64),
            format!("a whole number from {low} to {high}"),
        ),
        KeyValueSet::Flag => (value.is_bool(), "true or false".into()),
    };
    (!good).then(|| format!("must be {must}"))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Returns the known key that the operator probably meant by `path`.
fn suggestion(keys: PlanKeys, path: &str) -> Option<String> {
    let (distance, key) =
        all(keys).map(|key| (strsim::levenshtein(path, key.path), key)).min_by_key(|&(d, _)| d)?;
    let leaf = |path: &str| path.rsplit('.').next().map(str::to_owned);
    let same_leaf = all(keys).find(|key| leaf(key.path) == leaf(path));
    match same_leaf {
        Some(key) => Some(format!("`{}` is a key", key.path)),
        None if distance <= 3 => Some(format!("did you mean `{}`?", key.path)),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::plan::{ServerDurability, Topology};

    fn problems(text: &str) -> Vec<String> {
        let problems = Plan::parse("p.toml", text).expect_err("problems");
        problems.iter().map(|p| format!("{}:{}: {}", p.line, p.column, p.message)).collect()
    }

    /// Collects the leaves of a serialized plan: the path of each, and its value as TOML writes it.
    fn leaves(prefix: &str, value: &toml::Table, into: &mut BTreeMap<String, String>) {
        for (name, value) in value {
            match value {
                toml::Value::Table(table) => leaves(&format!("{prefix}{name}."), table, into),
                other => {
                    into.insert(format!("{prefix}{name}"), other.to_string());
                }
            }
        }
    }

    #[test]
    fn the_key_table_is_the_type_with_its_defaults() {
        let mut fields = BTreeMap::new();
        leaves("", &toml::Table::try_from(Plan::default()).unwrap(), &mut fields);
        let mut table: BTreeMap<String, String> =
            all(KEYS).map(|key| (key.path.to_owned(), key.default.to_owned())).collect();
        for required in ["name", "title"] {
            assert_eq!(table.insert(required.to_owned(), "\"\"".to_owned()).unwrap(), "");
        }
        assert_eq!(table, fields);
    }

    #[test]
    fn a_small_plan_takes_the_defaults() {
        let plan = Plan::parse(
            "p.toml",
            "name = 'x'\ntitle = 'X'\ntopology = 'veth'\n[search]\ndwell_s = 2\n[server]\n\
             durability = ['always']\n",
        )
        .unwrap();
        assert_eq!(plan.topology, Topology::Veth);
        assert_eq!(plan.search.dwell_s, 2.0);
        assert_eq!(plan.search.loss_percent, 2.5);
        assert_eq!(plan.server.durability, [ServerDurability::Always]);
        assert_eq!(plan.servers, ["godwit"]);
    }

    #[test]
    fn all_problems_come_at_once_with_their_places() {
        let text = "name = 'a b'\nprotocol = 'dhcp9'\nservers = ['kea', 'kea']\n\
                    [search]\n  dwel_s = 1\n  growth = 'two'\n  deadline_s = 1000\n\
                    [clients]\ncount = 1.5\n[nothing]\nx = 1\n[server]\ndwell_s = 3\n";
        assert_eq!(
            problems(text),
            [
                "1:1: `title` is missing",
                "1:8: `name` must be letters, digits and dashes",
                "2:12: `protocol` must be one of: dhcp4, dhcp6, dns",
                "3:11: `servers` must be a list of different names",
                "5:3: unknown key `search.dwel_s`",
                "6:12: `search.growth` must be a number from 1.1 to 16",
                "7:16: `search.deadline_s` must be a number from 0.001 to 60",
                "9:9: `clients.count` must be a whole number from 1 to 16777216",
                "10:2: unknown key `nothing`",
                "13:1: unknown key `server.dwell_s`",
            ]
        );
        let all = Plan::parse("p.toml", text).unwrap_err();
        assert_eq!(all[4].help.as_deref(), Some("did you mean `search.dwell_s`?"));
        assert_eq!(all[8].help, None);
        assert_eq!(all[9].help.as_deref(), Some("`search.dwell_s` is a key"));
    }

    #[test]
    fn a_problem_points_at_its_place() {
        let problem =
            &Plan::parse("plans/x.toml", "name = 'x'\ntitle = 'X'\nseed = -1\n").unwrap_err()[0];
        assert_eq!(
            problem.to_string(),
            "plans/x.toml:3:8: error: `seed` must be a whole number from 0 to 9223372036854775807\n    \
             3 | seed = -1\n      |        ^\n      \
             = help: Seed from which every trial's seed is derived."
        );
    }

    #[test]
    fn broken_toml_and_doubled_keys_are_placed() {
        assert!(problems("name = \n")[0].starts_with("1:"), "{:?}", problems("name = \n"));
        let doubled = problems("name = 'x'\ntitle = 'X'\nname = 'y'\n");
        assert!(doubled[0].starts_with("3:1: "), "{doubled:?}");
        assert!(problems("name = 'x'\ntitle = 'X'\nsearch = 3\n")[0].contains("must be a table"));
    }

    #[test]
    fn values_are_checked_together() {
        let head = "name = 'x'\ntitle = 'X'\n";
        let both = format!(
            "{head}time_budget_s = 2\n[search]\nstart_per_s = 9\nmax_per_s = 8\n\
             [clients]\ncount = 300\n[server]\npool_size = 200\n"
        );
        assert_eq!(
            problems(&both),
            [
                "3:17: `time_budget_s` (2 s) has no room for one trial of the search and one \
                 confirming trial (4 s)",
                "5:15: `search.start_per_s` (9) is above `search.max_per_s` (8)",
                "8:9: 300 clients do not fit into a pool of 200 addresses",
            ]
        );
        let server = "protocol = 'dhcp6'\n[server]\nfeatures = ['plain', 'releases']\n";
        assert_eq!(
            problems(&format!("{head}{server}")),
            ["5:12: `releases` is measured with DHCPv4 only"]
        );
    }

    #[test]
    fn a_pool_runs_out_within_its_trial_and_has_no_features() {
        let head = "name = 'x'\ntitle = 'X'\n";
        let with = |more: &str| problems(&format!("{head}{more}"));
        assert_eq!(
            with("[exhaustion]\ndwell_s = 9\nat_s = 9\n[server]\nfeatures = ['releases']\n"),
            [
                "4:11: `exhaustion.dwell_s` needs a plan without `server.features`",
                "5:8: `exhaustion.at_s` (9) is not within the trial of 9 s",
            ]
        );
        assert_eq!(
            with("protocol = 'dns'\n[exhaustion]\ndwell_s = 30\n"),
            ["5:11: `exhaustion.dwell_s` is for DHCP: DNS has no pools"]
        );
        assert!(Plan::parse("p", &format!("{head}[exhaustion]\nat_s = 99\n")).is_ok());
    }

    #[test]
    fn what_is_said_about_runs_must_fit_together() {
        let head = "name = 'x'\ntitle = 'X'\n";
        let with = |more: &str| problems(&format!("{head}{more}"));
        assert_eq!(
            with("[runs]\ncount = 3\n[blocks]\nrounds = 2\n"),
            [
                "4:9: 3 runs are too few to drop the best and the worst",
                "6:10: `blocks.rounds` and `runs.count` exclude each other",
            ]
        );
        assert_eq!(
            with("[runs]\ndrop = 'none'\nunconfirmed = 'maybe'\n"),
            ["5:15: `runs.unconfirmed` must be one of: lower-bound, void"]
        );
        assert_eq!(
            with("[runs]\ndrop = 'none'\nunconfirmed = 'void'\n"),
            [
                "4:8: `runs.drop` has no effect without `runs.count`",
                "5:15: `runs.unconfirmed` has no effect without `runs.count`",
            ]
        );
        let plan = Plan::parse("p", &format!("{head}[runs]\ncount = 3\ndrop = 'none'\n")).unwrap();
        assert_eq!((plan.rounds(), plan.has_runs()), (3, true));
    }

    #[test]
    fn shipped_plans_are_good_and_named_like_their_files() {
        for (file, text) in [
            ("dhcp4-quick", include_str!("../../../../plans/dhcp4-quick.toml")),
            ("dhcp4-smoke", include_str!("../../../../plans/dhcp4-smoke.toml")),
            ("dhcp4-full", include_str!("../../../../plans/dhcp4-full.toml")),
            ("dhcp6-full", include_str!("../../../../plans/dhcp6-full.toml")),
        ] {
            let plan = Plan::parse(file, text).unwrap_or_else(|problems| {
                panic!("{}", problems.iter().map(PlanProblem::to_string).collect::<String>())
            });
            assert_eq!(plan.name, file);
        }
    }
}
