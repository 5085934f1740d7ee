//! Compiled classes against a plain walk over the trees of their tests: random expressions, random
//! messages, both families. A further test shows that classifying a message allocates nothing.

mod generate;
mod interpret;
mod kea;
mod messages;
mod spell;

use base::Random;
use dhcp_config::ClientClass;
use dhcp_config::expression::{Vocabulary, parse_condition, parse_text};
use dhcp_engine::classify::{ClassIndex, ClassSet, Classes, StringProgram, Workspace};
use generate::ExpressionGenerator;
use interpret::Interpreter;
use messages::{AnyPacketView, ClassTestMessage, MessageFamily};

/// Classes of a configuration, the same type for both families.
type Class = ClientClass<u16, ()>;

const CONFIGURATIONS: u64 = 4_000;
const MESSAGES: u64 = 5;
const EXPRESSIONS: u64 = 20_000;

fn names(classes: &Classes, set: &ClassSet) -> Vec<String> {
    set.iter().map(|class| classes.name(class).to_owned()).collect()
}

/// Classes of a test, as configured and compiled.
#[derive(Clone, Copy)]
struct ClassTestConfiguration<'c> {
    configured: &'c [Class],
    /// True for each class of `configured` that waits for KNOWN or UNKNOWN.
    late: &'c [bool],
    classes: &'c Classes,
}

/// Runs one message through all passes, compiled and interpreted.
fn check(
    random: &mut Random,
    configuration: ClassTestConfiguration<'_>,
    message: &ClassTestMessage,
    view: &AnyPacketView<'_>,
    set: &mut ClassSet,
    work: &mut Workspace,
) {
    let ClassTestConfiguration { configured, late, classes } = configuration;
    let mut plain = Interpreter::new(view, late);
    let same = |plain: &Interpreter<'_, AnyPacketView<'_>>, set: &ClassSet, pass: &str| {
        let expected: Vec<&String> =
            plain.classes.iter().filter(|name| classes.index(name).is_some()).collect();
        let members = names(classes, set);
        assert_eq!(
            members.iter().collect::<Vec<_>>(),
            expected,
            "{pass}\n{configured:#?}\n{message:?}"
        );
    };
    let all: Vec<String> = configured.iter().map(|class| class.name.clone()).collect();
    let some = |random: &mut Random| -> Vec<String> {
        all.iter().filter(|_| random.chance(1, 3)).cloned().collect()
    };
    let indexes = |names: &[String]| -> Vec<ClassIndex> {
        names.iter().filter_map(|name| classes.index(name)).collect()
    };

    classes.evaluate_early(view, set, work);
    plain.early(configured);
    same(&plain, set, "early");

    let host_classes = some(random);
    if random.chance(1, 2) {
        classes.evaluate_again(&indexes(&host_classes), view, set, work);
        plain.again(configured, &host_classes);
        same(&plain, set, "again");
    }
    let known_class = if random.chance(1, 2) { Classes::KNOWN } else { Classes::UNKNOWN };
    set.insert(known_class);
    plain.insert(classes.name(known_class));

    classes.evaluate_late(view, set, work);
    plain.late(configured);
    same(&plain, set, "late");

    let additional = some(random);
    classes.evaluate_additional(&indexes(&additional), view, set, work);
    plain.additional(configured, &additional);
    same(&plain, set, "additional");
}

fn configurations(family: MessageFamily, seed: u64) {
    let mut random = Random::from_seed(seed);
    let (mut set, mut work) = (ClassSet::default(), Workspace::default());
    let patterns = generate::patterns();
    let mut members = 0;
    for _ in 0..CONFIGURATIONS {
        let mut generator = ExpressionGenerator::new(family, random.fork(1), &patterns);
        let configured = generator.classes();
        let referred = generator.referred();
        let classes = Classes::compile(&configured, referred.iter().map(String::as_str));
        let late = interpret::late(&configured);
        let configuration =
            ClassTestConfiguration { configured: &configured, late: &late, classes: &classes };
        for _ in 0..MESSAGES {
            let message = ClassTestMessage::random(family, &mut random);
            message.view(|view| {
                check(&mut random, configuration, &message, view, &mut set, &mut work);
            });
        }
        members += set.iter().len();
    }
    // Random tests that no message passed would prove nothing.
    assert!(members as u64 > CONFIGURATIONS * 3, "{members}");
}

#[test]
fn classes_of_dhcpv4_are_what_their_tests_say() {
    configurations(MessageFamily::V4, 0x0c1a_5500);
}

#[test]
fn classes_of_dhcpv6_are_what_their_tests_say() {
    configurations(MessageFamily::V6, 0x0c1a_5506);
}

/// Vocabulary that has no names and lets expressions refer to every class.
struct Anything(MessageFamily);

impl Vocabulary for Anything {
    fn is_v6(&self) -> bool {
        self.0 == MessageFamily::V6
    }

    fn option_code(&self, _: &str) -> Option<u16> {
        None
    }

    fn holds_characters(&self, code: u16) -> bool {
        generate::holds_characters(self.0, code)
    }

    fn check_class(&mut self, _: &str) -> Result<(), String> {
        Ok(())
    }
}

fn expressions(family: MessageFamily, seed: u64) {
    let mut random = Random::from_seed(seed);
    let none: [Class; 0] = [];
    let classes = Classes::compile(&none, ["a"]);
    let (mut set, mut work, mut octets) = (ClassSet::default(), Workspace::default(), Vec::new());
    let patterns = generate::patterns();
    let mut filled = 0;
    for _ in 0..EXPRESSIONS {
        let mut generator = ExpressionGenerator::new(family, random.fork(1), &patterns);
        let condition = generator.condition(3);
        let spelled = spell::condition(&condition);
        let parsed = parse_condition(&spelled, &mut Anything(family));
        assert_eq!(parsed.as_ref(), Ok(&condition), "{spelled}");
        let text = generator.text(4);
        let spelled = spell::text(&text);
        assert_eq!(parse_text(&spelled, &mut Anything(family)).as_ref(), Ok(&text), "{spelled}");

        let program = StringProgram::compile(&text, &classes);
        let message = ClassTestMessage::random(family, &mut random);
        message.view(|view| {
            set.clear();
            let mut plain = Interpreter::new(view, &[]);
            if random.chance(1, 2) {
                set.insert(classes.index("a").expect("it is referred to"));
                plain.insert("a");
            }
            octets.clear();
            let has_value = program.evaluate(view, &set, &mut work, &mut octets);
            let expected = plain.text(&text);
            assert_eq!(
                has_value.then_some(&octets),
                expected.as_ref().ok(),
                "{spelled}\n{message:?}"
            );
            filled += u64::from(!octets.is_empty());
        });
    }
    assert!(filled > EXPRESSIONS / 4, "{filled}");
}

#[test]
fn expressions_of_dhcpv4_mean_what_their_trees_say() {
    expressions(MessageFamily::V4, 0x0ec5_9404);
}

#[test]
fn expressions_of_dhcpv6_mean_what_their_trees_say() {
    expressions(MessageFamily::V6, 0x0ec5_9406);
}

#[test]
fn classifying_allocates_nothing() {
    let patterns = generate::patterns();
    for family in [MessageFamily::V4, MessageFamily::V6] {
        let mut random = Random::from_seed(0xa110);
        let messages: Vec<ClassTestMessage> =
            (0..50).map(|_| ClassTestMessage::random(family, &mut random)).collect();
        let (mut set, mut work) = (ClassSet::default(), Workspace::default());
        for _ in 0..50 {
            let mut generator = ExpressionGenerator::new(family, random.fork(1), &patterns);
            let configured = generator.classes();
            let referred = generator.referred();
            let classes = Classes::compile(&configured, referred.iter().map(String::as_str));
            let additional: Vec<ClassIndex> =
                configured.iter().filter_map(|class| classes.index(&class.name)).collect();
            let mut run = |counted: bool| {
                for message in &messages {
                    message.view(|view| {
                        let allocations = allocation_counter::measure(|| {
                            classes.evaluate_early(view, &mut set, &mut work);
                            set.insert(Classes::KNOWN);
                            classes.evaluate_late(view, &mut set, &mut work);
                            classes.evaluate_additional(&additional, view, &mut set, &mut work);
                        });
                        assert!(!counted || allocations.count_total == 0, "{configured:#?}");
                    });
                }
            };
            run(false);
            run(true);
        }
    }
}
