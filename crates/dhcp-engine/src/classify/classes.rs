//! Client classes of a configuration, and their evaluation for a message.

use std::collections::BTreeMap;

use dhcp_config::expression::TextExpression;
use dhcp_config::{ClassTest, ClientClass, HaRelationship};

use super::compile::Compiler;
use super::dependence;
use super::names::{ClassesByOctets, VENDOR_CLASS, spawned_by};
use super::pair::ScopeClasses;
use super::pass::EvaluationPass;
use super::program::{ExpressionProgram, Test, TextId};
use super::workspace::ExpressionEvaluator;
use super::{ClassIndex, ClassSet, PacketView, Workspace};

/// Compiled client classes of a configuration, with the tests that decide which of them a message
/// is in.
#[derive(Debug)]
pub struct Classes {
    program: ExpressionProgram,
    /// Names of all classes, by [`ClassIndex`].
    names: Vec<Box<str>>,
    by_name: BTreeMap<Box<str>, ClassIndex>,
    /// Classes that `client-classes` configures, in the order of the file.
    pub(super) configured: Vec<Configured>,
    /// Positions of the classes in `configured`, by [`ClassIndex`]; `None` for a class that is not
    /// configured.
    positions: Vec<Option<u16>>,
    early: EvaluationPass,
    late: EvaluationPass,
    vendor: ClassesByOctets,
    /// Classes of the scopes of a pair of servers.
    scopes: ScopeClasses,
}

/// Class that `client-classes` configures, in compiled form.
#[derive(Debug)]
pub(super) struct Configured {
    pub(super) index: ClassIndex,
    pub(super) check: Check,
}

/// Condition under which a client class contains the client of a message.
#[derive(Debug)]
pub(super) enum Check {
    /// No test: hosts or scopes assign the class to clients.
    Assigned,
    /// Test expression of the class (`test`): clients for which the test is true are in the class.
    Test(Test),
    /// Template expression of the class (`template-test`): clients for which its text is not empty
    /// are in the class, and in the class that the text spawns.
    Template(TextId, ClassesByOctets),
}

impl Classes {
    /// Index of the built-in class `ALL`, which contains every client.
    pub const ALL: ClassIndex = ClassIndex(0);
    /// Index of the built-in class `KNOWN`, which contains clients with a host reservation.
    pub const KNOWN: ClassIndex = ClassIndex(1);
    /// Index of the built-in class `UNKNOWN`, which contains clients without a host reservation.
    pub const UNKNOWN: ClassIndex = ClassIndex(2);
    /// Index of the built-in class `DROP`: the server sends no reply to its clients.
    pub const DROP: ClassIndex = ClassIndex(3);
    /// Index of the built-in class `REJECT`: the server refuses leases to its clients.
    pub const REJECT: ClassIndex = ClassIndex(4);
    /// Index of the built-in class `BOOTP`, which contains BOOTP messages.
    pub const BOOTP: ClassIndex = ClassIndex(5);
    /// Index of the built-in class `SKIP_DDNS`, whose clients' names are not updated in DNS.
    pub const SKIP_DDNS: ClassIndex = ClassIndex(6);

    /// Index of the built-in class `STASH_AGENT_OPTIONS`: clients that renew past their relay
    /// agent, for which the option 82 (RFC 3046) that their lease stores counts again (Kea's
    /// `stash-agent-options`).
    pub const STASH_AGENT_OPTIONS: ClassIndex = ClassIndex(7);

    /// Names of the built-in classes, by [`ClassIndex`].
    const BUILT_IN: [&str; 8] =
        ["ALL", "KNOWN", "UNKNOWN", "DROP", "REJECT", "BOOTP", "SKIP_DDNS", "STASH_AGENT_OPTIONS"];

    /// Compiles the `client-classes` of a configuration. `referred` are the class names that other
    /// parts of the configuration refer to: `client-classes` and `evaluate-additional-classes` of
    /// scopes, and `client-classes` of options. Names that only hosts give to clients are not
    /// needed: they would have no effect. If there are more than 65,536 names in all, the last ones
    /// are classes that no client is in.
    #[must_use]
    pub fn compile<'n, C, B>(
        classes: &[ClientClass<C, B>],
        referred: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let mut names = ClassNames::default();
        Self::BUILT_IN.iter().for_each(|name| names.add(name));
        classes.iter().for_each(|class| names.add(&class.name));
        referred.into_iter().for_each(|name| names.add(name));
        for test in classes.iter().filter_map(|class| class.test.as_ref()) {
            dependence::members(test, &mut |name| names.add(name));
        }
        let ClassNames { list: names, by_name } = names;
        let vendor = ClassesByOctets::new(VENDOR_CLASS, indexed(&names));

        let find = |name: &str| by_name.get(name).copied();
        let mut compiler = Compiler::new(&find);
        let mut configured = Vec::new();
        let mut positions = vec![None; names.len()];
        for (class, position) in classes.iter().zip(0..) {
            let Some(index) = find(&class.name) else { break };
            positions[usize::from(index.0)] = Some(position);
            let check = match &class.test {
                None => Check::Assigned,
                Some(ClassTest::Test { condition, .. }) => {
                    Check::Test(compiler.condition(condition))
                }
                Some(ClassTest::Template { text, .. }) => {
                    let spawned = ClassesByOctets::new(&spawned_by(&class.name), indexed(&names));
                    Check::Template(compiler.text(text), spawned)
                }
            };
            configured.push(Configured { index, check });
        }
        let is_late = dependence::late(classes);
        let evaluated = |late: bool| {
            let classes = classes.iter().zip(&is_late).zip(0..configured.len());
            classes.filter_map(move |((class, is_late), position)| {
                let is_due = *is_late == late && !class.only_in_additional_list;
                is_due.then_some(position)
            })
        };
        let early = EvaluationPass::new(&compiler, &configured, evaluated(false));
        let late = EvaluationPass::new(&compiler, &configured, evaluated(true));
        let program = compiler.finish();
        let scopes = ScopeClasses::default();
        Self { program, names, by_name, configured, positions, early, late, vendor, scopes }
    }

    /// Puts each message in the class `HA_<name>` of the server of `relationship` whose scope its
    /// client belongs to, before other classes are evaluated.
    #[must_use]
    pub fn with_scopes(mut self, relationship: &HaRelationship) -> Self {
        self.scopes = ScopeClasses::new(relationship, |name| self.index(name));
        self
    }

    /// Returns the class `HA_<name>` of the primary server of `relationship`; `None` when the
    /// configuration does not refer to it.
    pub(crate) fn primary_scope(&self, relationship: &HaRelationship) -> Option<ClassIndex> {
        ScopeClasses::new(relationship, |name| self.index(name)).primary()
    }

    /// Returns the index of the class `name`; `None` when the configuration does not refer to the
    /// name.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<ClassIndex> {
        self.by_name.get(name).copied()
    }

    /// Returns the set of the classes with these names; it leaves out names that the configuration
    /// does not refer to.
    #[must_use]
    pub fn named(&self, names: &[String]) -> ClassSet {
        let mut classes = ClassSet::default();
        for class in names.iter().filter_map(|name| self.index(name)) {
            classes.insert(class);
        }
        classes
    }

    /// Returns the name of the class at an index.
    #[must_use]
    pub fn name(&self, class: ClassIndex) -> &str {
        self.names.get(usize::from(class.0)).map_or("", |name| name)
    }

    /// Returns the position of the class at an index in `client-classes`; `None` when the class is
    /// not configured there.
    #[must_use]
    pub fn position(&self, class: ClassIndex) -> Option<usize> {
        self.positions.get(usize::from(class.0)).copied().flatten().map(usize::from)
    }

    /// Returns the number of built-in, configured and only referred-to classes together.
    #[must_use]
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Begins the classification of a message: `set` gets the class of the scope of a pair, the
    /// class `ALL`, the class `VENDOR_CLASS_<text>` of the client's vendor, and the configured
    /// classes that depend neither on `KNOWN` nor on `UNKNOWN`.
    pub fn evaluate_early<V: PacketView>(
        &self,
        view: &V,
        set: &mut ClassSet,
        work: &mut Workspace,
    ) {
        work.begin(&self.program);
        set.clear();
        if view.has_stored_relay_information() {
            set.insert(Self::STASH_AGENT_OPTIONS);
        }
        if let Some(scope) = self.scopes.of_message(view) {
            set.insert(scope);
        }
        set.insert(Self::ALL);
        if view.is_bootp() {
            set.insert(Self::BOOTP);
        }
        self.evaluate_vendor(view, set, work);
        self.evaluate(&self.early, view, set, work);
    }

    /// Evaluates the client classes that depend on `KNOWN`, `UNKNOWN` or the classes of the
    /// client's host, once these are in `set`.
    pub fn evaluate_late<V: PacketView>(&self, view: &V, set: &mut ClassSet, work: &mut Workspace) {
        work.go_on(&self.program);
        self.evaluate(&self.late, view, set, work);
    }

    /// Evaluates, after a lease was chosen, the additional client classes of pool, subnet and
    /// shared network (`evaluate-additional-classes`), in this order. A class without a test
    /// contains every client.
    pub fn evaluate_additional<V: PacketView>(
        &self,
        additional: &[ClassIndex],
        view: &V,
        set: &mut ClassSet,
        work: &mut Workspace,
    ) {
        work.go_on(&self.program);
        for &class in additional {
            let Some(position) = self.position(class) else { continue };
            let configured = &self.configured[position];
            let mut run = ExpressionEvaluator { program: &self.program, view, set, work };
            let is_member = match &configured.check {
                Check::Assigned => true,
                Check::Test(test) => run.test(test) == Ok(true),
                // Kea takes the text of a template for a truth value here.
                Check::Template(text, _) => {
                    run.text(*text).is_ok_and(|span| work.octets(&self.program, span) == b"true")
                }
            };
            if is_member {
                set.insert(class);
            }
        }
    }

    /// Evaluates the client classes again for a host reservation with `client-classes`: removes the
    /// tested classes, adds the reservation's, and repeats the tests that do not depend on `KNOWN`
    /// or `UNKNOWN`, as Kea does.
    pub fn evaluate_again<V: PacketView>(
        &self,
        host_classes: &[ClassIndex],
        view: &V,
        set: &mut ClassSet,
        work: &mut Workspace,
    ) {
        work.go_on(&self.program);
        set.retain(|class| {
            self.position(class)
                .is_none_or(|position| matches!(self.configured[position].check, Check::Assigned))
        });
        for &class in host_classes {
            set.insert(class);
        }
        self.evaluate(&self.early, view, set, work);
    }

    fn evaluate_vendor<V: PacketView>(&self, view: &V, set: &mut ClassSet, work: &mut Workspace) {
        if self.vendor.is_empty() {
            return;
        }
        let mut nth = 0;
        while let Some(octets) = work.passing(|octets| view.vendor_class(nth, octets)) {
            if let Some(class) = self.vendor.find(octets) {
                set.insert(class);
            }
            nth += 1;
        }
    }

    fn evaluate<V: PacketView>(
        &self,
        pass: &EvaluationPass,
        view: &V,
        set: &mut ClassSet,
        work: &mut Workspace,
    ) {
        pass.begin(&mut ExpressionEvaluator { program: &self.program, view, set, work });
        let mut from = 0;
        while let Some(position) = pass.next(from, work) {
            from = position + 1;
            let class = &self.configured[position];
            let mut run = ExpressionEvaluator { program: &self.program, view, set, work };
            match &class.check {
                Check::Assigned => {}
                Check::Test(test) => {
                    if pass.is_decided(position) || run.test(test) == Ok(true) {
                        set.insert(class.index);
                    }
                }
                Check::Template(text, spawned) => {
                    let Some(span) = run.text(*text).ok().filter(|span| span.len > 0) else {
                        continue;
                    };
                    // The spawned class comes first, so that its settings win.
                    if let Some(spawned) = spawned.find(work.octets(&self.program, span)) {
                        set.insert(spawned);
                    }
                    set.insert(class.index);
                }
            }
        }
    }
}

fn indexed(names: &[Box<str>]) -> impl Iterator<Item = (&str, ClassIndex)> {
    names.iter().zip(0..).map(|(name, index)| (&**name, ClassIndex(index)))
}

/// Names of the classes of a configuration, in the order in which they are added.
#[derive(Default)]
struct ClassNames {
    list: Vec<Box<str>>,
    by_name: BTreeMap<Box<str>, ClassIndex>,
}

impl ClassNames {
    fn add(&mut self, name: &str) {
        if let Ok(index) = u16::try_from(self.list.len())
            && !self.by_name.contains_key(name)
        {
            self.by_name.insert(name.into(), ClassIndex(index));
            self.list.push(name.into());
        }
    }
}

/// Compiled expression with a string value, such as the client identifier that the flex-id hook
/// computes.
#[derive(Debug)]
pub struct StringProgram {
    program: ExpressionProgram,
    text: TextId,
}

impl StringProgram {
    /// Compiles a string expression; a `member` in the expression refers to `classes`.
    #[must_use]
    pub fn compile(text: &TextExpression, classes: &Classes) -> Self {
        let find = |name: &str| classes.index(name);
        let mut compiler = Compiler::new(&find);
        let text = compiler.text(text);
        Self { program: compiler.finish(), text }
    }

    /// Evaluates the string expression for a message and appends its value to `target`; returns
    /// false, with nothing appended, when the expression has no value. `work` should be another
    /// workspace than that of the classes: a shared one works, too, but each program discards the
    /// values of the other.
    pub fn evaluate<V: PacketView>(
        &self,
        view: &V,
        set: &ClassSet,
        work: &mut Workspace,
        target: &mut Vec<u8>,
    ) -> bool {
        work.begin(&self.program);
        let text = ExpressionEvaluator { program: &self.program, view, set, work }.text(self.text);
        if let Ok(span) = text {
            target.extend_from_slice(work.octets(&self.program, span));
        }
        text.is_ok()
    }
}
