//! The classes of a configuration and who is in them.

use std::collections::BTreeMap;

use dhcp_config::expression::Text;
use dhcp_config::{ClassTest, ClientClass};

use super::compile::Compiler;
use super::dependence;
use super::names::{MadeNames, VENDOR_CLASS, spawned_by};
use super::pass::Pass;
use super::program::{Program, Test, TextId};
use super::workspace::Run;
use super::{ClassIndex, ClassSet, PacketView, Workspace};

/// The compiled classes of a configuration.
#[derive(Debug)]
pub struct Classes {
    program: Program,
    /// By index.
    names: Vec<Box<str>>,
    by_name: BTreeMap<Box<str>, ClassIndex>,
    /// The configured classes, in their order.
    pub(super) configured: Vec<Configured>,
    /// By index, the position among the configured ones.
    positions: Vec<Option<u16>>,
    early: Pass,
    late: Pass,
    vendor: MadeNames,
}

/// A configured class.
#[derive(Debug)]
pub(super) struct Configured {
    pub(super) index: ClassIndex,
    pub(super) check: Check,
}

/// Who is in a class.
#[derive(Debug)]
pub(super) enum Check {
    /// Those whom hosts or scopes put there.
    Given,
    /// Those for whom a condition holds.
    Test(Test),
    /// Those for whom a text is not empty; the classes it spawns.
    Template(TextId, MadeNames),
}

impl Classes {
    /// Everyone.
    pub const ALL: ClassIndex = ClassIndex(0);
    /// Clients with a reservation.
    pub const KNOWN: ClassIndex = ClassIndex(1);
    /// Clients without one.
    pub const UNKNOWN: ClassIndex = ClassIndex(2);
    /// Messages that get no answer.
    pub const DROP: ClassIndex = ClassIndex(3);
    /// Messages that are refused.
    pub const REJECT: ClassIndex = ClassIndex(4);
    /// Messages of BOOTP.
    pub const BOOTP: ClassIndex = ClassIndex(5);
    /// Clients whose names are not updated in DNS.
    pub const SKIP_DDNS: ClassIndex = ClassIndex(6);

    /// Clients that renew without the relay agent whose words count again.
    pub const STASH_AGENT_OPTIONS: ClassIndex = ClassIndex(7);

    /// Names of the above, by index.
    const BUILT_IN: [&str; 8] =
        ["ALL", "KNOWN", "UNKNOWN", "DROP", "REJECT", "BOOTP", "SKIP_DDNS", "STASH_AGENT_OPTIONS"];

    /// Compiles `client-classes`. `referred` are the names that something asks after: guards, lists
    /// of additional classes, tags of options. Names that only hosts give to clients need not be
    /// there; nothing would come of them. Of more than 65,536 names in all the last are classes
    /// that nobody is in.
    #[must_use]
    pub fn compile<'n, C, B>(
        classes: &[ClientClass<C, B>],
        referred: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let mut names = Names::default();
        Self::BUILT_IN.iter().for_each(|name| names.add(name));
        classes.iter().for_each(|class| names.add(&class.name));
        referred.into_iter().for_each(|name| names.add(name));
        for test in classes.iter().filter_map(|class| class.test.as_ref()) {
            dependence::members(test, &mut |name| names.add(name));
        }
        let Names { list: names, by_name } = names;
        let vendor = MadeNames::new(VENDOR_CLASS, indexed(&names));

        let find = |name: &str| by_name.get(name).copied();
        let mut compiler = Compiler::new(&find);
        let mut configured = Vec::new();
        let mut positions = vec![None; names.len()];
        for (class, position) in classes.iter().zip(0..) {
            let Some(index) = find(&class.name) else { break };
            positions[usize::from(index.0)] = Some(position);
            let check = match &class.test {
                None => Check::Given,
                Some(ClassTest::Test { condition, .. }) => {
                    Check::Test(compiler.condition(condition))
                }
                Some(ClassTest::Template { text, .. }) => {
                    let spawned = MadeNames::new(&spawned_by(&class.name), indexed(&names));
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
        let early = Pass::new(&compiler, &configured, evaluated(false));
        let late = Pass::new(&compiler, &configured, evaluated(true));
        let program = compiler.finish();
        Self { program, names, by_name, configured, positions, early, late, vendor }
    }

    /// The class of a name, when anything refers to it.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<ClassIndex> {
        self.by_name.get(name).copied()
    }

    /// The classes with these names; those that nothing refers to are left out.
    #[must_use]
    pub fn named(&self, names: &[String]) -> ClassSet {
        let mut classes = ClassSet::default();
        for class in names.iter().filter_map(|name| self.index(name)) {
            classes.insert(class);
        }
        classes
    }

    /// The name of a class.
    #[must_use]
    pub fn name(&self, class: ClassIndex) -> &str {
        self.names.get(usize::from(class.0)).map_or("", |name| name)
    }

    /// Position of a class in `client-classes`; `None` when it stands nowhere there.
    #[must_use]
    pub fn position(&self, class: ClassIndex) -> Option<usize> {
        self.positions.get(usize::from(class.0)).copied().flatten().map(usize::from)
    }

    /// How many classes there are, whatever they come from.
    #[must_use]
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// Begins a message: `set` becomes everyone's class, that of the client's vendor, and the
    /// configured ones that depend neither on KNOWN nor on UNKNOWN.
    pub fn evaluate_early<V: PacketView>(
        &self,
        view: &V,
        set: &mut ClassSet,
        work: &mut Workspace,
    ) {
        work.begin(&self.program);
        set.clear();
        if view.has_stashed_information() {
            set.insert(Self::STASH_AGENT_OPTIONS);
        }
        set.insert(Self::ALL);
        if view.is_bootp() {
            set.insert(Self::BOOTP);
        }
        self.evaluate_vendor(view, set, work);
        self.evaluate(&self.early, view, set, work);
    }

    /// Goes on once the host is known and its classes and KNOWN or UNKNOWN are in the set: the
    /// classes that depend on these.
    pub fn evaluate_late<V: PacketView>(&self, view: &V, set: &mut ClassSet, work: &mut Workspace) {
        work.go_on(&self.program);
        self.evaluate(&self.late, view, set, work);
    }

    /// Goes on after allocation: the additional classes of pool, subnet and network, in this order.
    /// Those without a test count as passed.
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
            let mut run = Run { program: &self.program, view, set, work };
            let is_member = match &configured.check {
                Check::Given => true,
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

    /// For a host that gives classes: takes out what was tested, puts in what the host gives, and
    /// tests again what does not depend on KNOWN or UNKNOWN, as Kea does.
    pub fn evaluate_again<V: PacketView>(
        &self,
        given: &[ClassIndex],
        view: &V,
        set: &mut ClassSet,
        work: &mut Workspace,
    ) {
        work.go_on(&self.program);
        set.retain(|class| {
            self.position(class)
                .is_none_or(|position| matches!(self.configured[position].check, Check::Given))
        });
        for &class in given {
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
        pass: &Pass,
        view: &V,
        set: &mut ClassSet,
        work: &mut Workspace,
    ) {
        pass.begin(&mut Run { program: &self.program, view, set, work });
        let mut from = 0;
        while let Some(position) = pass.next(from, work) {
            from = position + 1;
            let class = &self.configured[position];
            let mut run = Run { program: &self.program, view, set, work };
            match &class.check {
                Check::Given => {}
                Check::Test(test) => {
                    if pass.is_decided(position) || run.test(test) == Ok(true) {
                        set.insert(class.index);
                    }
                }
                Check::Template(text, spawned) => {
                    let Some(span) = run.text(*text).ok().filter(|span| span.len > 0) else {
                        continue;
                    };
                    // The class spawned comes first: what it sets wins.
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

/// Names as they are met.
#[derive(Default)]
struct Names {
    list: Vec<Box<str>>,
    by_name: BTreeMap<Box<str>, ClassIndex>,
}

impl Names {
    fn add(&mut self, name: &str) {
        if let Ok(index) = u16::try_from(self.list.len())
            && !self.by_name.contains_key(name)
        {
            self.by_name.insert(name.into(), ClassIndex(index));
            self.list.push(name.into());
        }
    }
}

/// A string made from messages, such as what identifies hosts for the flex-id hook.
#[derive(Debug)]
pub struct StringProgram {
    program: Program,
    text: TextId,
}

impl StringProgram {
    /// Compiles a string; `member` in it asks after these classes.
    #[must_use]
    pub fn compile(text: &Text, classes: &Classes) -> Self {
        let find = |name: &str| classes.index(name);
        let mut compiler = Compiler::new(&find);
        let text = compiler.text(text);
        Self { program: compiler.finish(), text }
    }

    /// Makes the string of a message and appends it to `target`; false, with nothing appended, when
    /// the expression has no value. `work` should be another one than that of the classes: both can
    /// do with one, but each forgets what it knew for the other.
    pub fn evaluate<V: PacketView>(
        &self,
        view: &V,
        set: &ClassSet,
        work: &mut Workspace,
        target: &mut Vec<u8>,
    ) -> bool {
        work.begin(&self.program);
        let text = Run { program: &self.program, view, set, work }.text(self.text);
        if let Ok(span) = text {
            target.extend_from_slice(work.octets(&self.program, span));
        }
        text.is_ok()
    }
}
