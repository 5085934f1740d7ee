//! Random expressions and classes, made of few terms and literals, so that comparisons hold
//! sometimes.

use base::Random;
use dhcp_config::ClassTest;
use dhcp_config::expression::{
    Condition, Conversion, Field4, Field6, OptionPath, OptionValueForm, PacketField, Pattern,
    Print, Term, TextExpression,
};

use super::Class;
use super::messages::{CODES4, CODES6, ENTERPRISES, INNER, MessageFamily, VALUES};

const CONVERSIONS: [Conversion; 9] = [
    Conversion::Lower,
    Conversion::Upper,
    Conversion::Address,
    Conversion::I8,
    Conversion::I16,
    Conversion::I32,
    Conversion::U8,
    Conversion::U16,
    Conversion::U32,
];

const FIELDS4: [Field4; 9] = [
    Field4::HardwareAddress,
    Field4::HardwareLength,
    Field4::HardwareType,
    Field4::Ciaddr,
    Field4::Giaddr,
    Field4::Yiaddr,
    Field4::Siaddr,
    Field4::MessageType,
    Field4::TransactionId,
];

const PACKET_FIELDS: [PacketField; 4] =
    [PacketField::Interface, PacketField::Source, PacketField::Destination, PacketField::Length];

const PATTERNS: [&str; 5] = ["", "a.*", "[^a]+", "(a|ab|Ab)\\.?c?", "\\d+\\.\\d"];

/// Returns true if an option holds characters.
pub(crate) fn holds_characters(family: MessageFamily, code: u16) -> bool {
    match family {
        MessageFamily::V4 => matches!(code, 12 | 60),
        MessageFamily::V6 => code == 41,
    }
}

/// Compiles the regular expressions, which takes longer than all other steps here.
pub(crate) fn patterns() -> Vec<Pattern> {
    PATTERNS.iter().map(|source| Pattern::new(source).expect("it is sound")).collect()
}

/// Generator of expressions of one family.
pub(crate) struct ExpressionGenerator<'p> {
    family: MessageFamily,
    random: Random,
    /// Classes that expressions may refer to.
    names: Vec<String>,
    patterns: &'p [Pattern],
}

impl<'p> ExpressionGenerator<'p> {
    pub(crate) fn new(family: MessageFamily, random: Random, patterns: &'p [Pattern]) -> Self {
        let names = ["a", "KNOWN", "VENDOR_CLASS_a", "SPAWN_c0_ab", "c0"];
        let names = names.map(str::to_owned).to_vec();
        Self { family, random, names, patterns }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        self.random.pick(items).expect("there are some").clone()
    }

    /// Returns names that other parts of a configuration than tests refer to.
    pub(crate) fn referred(&mut self) -> Vec<String> {
        let names = ["SPAWN_c1_a", "SPAWN_c2_a%25b%20c", "SPAWN_c2_a%%b%20c", "VENDOR_CLASS_true"];
        names.iter().filter(|_| self.random.chance(1, 2)).map(|name| (*name).to_owned()).collect()
    }

    /// Returns the classes of a configuration: `c0` and so on, and sometimes DROP.
    pub(crate) fn classes(&mut self) -> Vec<Class> {
        let count = if self.random.chance(1, 10) { 130 } else { 1 + self.below(9) };
        // Sometimes many classes compare the same term, as in most large configurations.
        let common = self.term();
        let is_uniform = count > 100 || self.random.chance(1, 4);
        (0..count)
            .map(|position| {
                let name = if position == 4 { "DROP".to_owned() } else { format!("c{position}") };
                let test = self.test(is_uniform.then_some(&common));
                self.names.push(name.clone());
                let only_in_additional_list = self.random.chance(1, 8);
                let options = Vec::new();
                let (valid_lifetime, own) = (None, ());
                Class { name, test, only_in_additional_list, options, valid_lifetime, own }
            })
            .collect()
    }

    fn test(&mut self, common: Option<&Term>) -> Option<ClassTest> {
        let source = String::new();
        Some(match self.below(8) {
            0 => return None,
            1 => ClassTest::Template { source, text: self.text(2) },
            2..=5 if common.is_some() => {
                let term = TextExpression::Value(common.expect("there is one").clone());
                let condition = Condition::Equal(Box::new(term), Box::new(self.literal()));
                ClassTest::Test { source, condition }
            }
            _ => ClassTest::Test { source, condition: self.condition(3) },
        })
    }

    pub(crate) fn condition(&mut self, depth: u64) -> Condition {
        if depth == 0 || self.random.chance(1, 4) {
            return self.comparison(1);
        }
        match self.below(8) {
            0 => Condition::Exists(self.existing()),
            1 => Condition::Member(self.pick(&self.names.clone())),
            2 => Condition::Matches(self.pattern(), Box::new(self.text(depth - 1))),
            3 => Condition::Not(Box::new(self.condition(depth - 1))),
            4 => self.comparison(depth),
            _ => {
                let strict = self.random.chance(1, 3);
                let all = self.random.chance(1, 2);
                let count = 2 + self.below(2);
                let mut parts: Vec<Condition> = Vec::new();
                for _ in 0..count {
                    let part = self.condition(depth - 1);
                    // A chain at the beginning of a chain is one chain.
                    match part {
                        Condition::All { parts: inner, strict: same }
                            if parts.is_empty() && all && same == strict =>
                        {
                            parts = inner;
                        }
                        Condition::Any { parts: inner, strict: same }
                            if parts.is_empty() && !all && same == strict =>
                        {
                            parts = inner;
                        }
                        part => parts.push(part),
                    }
                }
                if all {
                    Condition::All { parts, strict }
                } else {
                    Condition::Any { parts, strict }
                }
            }
        }
    }

    fn pattern(&mut self) -> Pattern {
        self.pick(self.patterns)
    }

    fn comparison(&mut self, depth: u64) -> Condition {
        let left = self.text(depth);
        let right = if self.random.chance(3, 4) { self.literal() } else { self.text(depth) };
        Condition::Equal(Box::new(left), Box::new(right))
    }

    fn literal(&mut self) -> TextExpression {
        TextExpression::Literal(self.pick(&VALUES).to_vec())
    }

    pub(crate) fn text(&mut self, depth: u64) -> TextExpression {
        if depth == 0 || self.random.chance(1, 3) {
            return if self.random.chance(1, 4) {
                self.literal()
            } else {
                TextExpression::Value(self.term())
            };
        }
        let of = |generator: &mut Self| Box::new(generator.text(depth - 1));
        match self.below(7) {
            0 => {
                let first = match self.text(depth - 1) {
                    TextExpression::Concat(parts) => parts,
                    text => vec![text],
                };
                let second = self.text(depth - 1);
                TextExpression::Concat([first, vec![second]].concat())
            }
            1 | 2 => {
                let start = self.below(9) as i32 - 4;
                let length = self.below(8) as i32 - 3;
                let length = self.random.chance(3, 4).then_some(length);
                TextExpression::Substring { of: of(self), start, length }
            }
            3 => {
                let delimiters = self.pick(&[&b"."[..], b"", b".-", b"b"]).to_vec();
                let delimiters = Box::new(TextExpression::Literal(delimiters));
                let field = self.below(5) as i32 - 1;
                TextExpression::Split { of: of(self), delimiters, field }
            }
            4 => TextExpression::Convert(self.pick(&CONVERSIONS), of(self)),
            5 => {
                let separator = self.pick(&[&b":"[..], b"", b"-"]).to_vec();
                TextExpression::Hex {
                    of: of(self),
                    separator: Box::new(TextExpression::Literal(separator)),
                }
            }
            _ => TextExpression::Choice {
                condition: Box::new(self.condition(depth - 1)),
                then: of(self),
                otherwise: of(self),
                strict: self.random.chance(1, 2),
            },
        }
    }

    fn enterprise(&mut self) -> Option<u32> {
        let number = self.pick(&ENTERPRISES);
        self.random.chance(3, 4).then_some(number)
    }

    /// Returns a path to an option, taken as bytes or as text.
    fn path(&mut self, codes: Vec<u16>, is_own: bool) -> OptionPath {
        let characters = match (&codes[..], self.family) {
            ([code], family) => is_own && holds_characters(family, *code),
            ([82, code], MessageFamily::V4) => *code == 6,
            _ => false,
        };
        let form = if characters {
            OptionValueForm::Characters
        } else if self.random.chance(1, 8) {
            OptionValueForm::Printed(Print::Octets)
        } else {
            OptionValueForm::Octets
        };
        OptionPath { codes, form }
    }

    fn option(&mut self) -> Term {
        let code = match self.family {
            MessageFamily::V4 => self.pick(&CODES4),
            MessageFamily::V6 => self.pick(&CODES6),
        };
        let mut codes = vec![code];
        match (self.family, code) {
            (MessageFamily::V4, 43 | 82) => codes.push(self.pick(&INNER)),
            (MessageFamily::V6, 3) if self.random.chance(1, 2) => codes.extend([5, 41]),
            (MessageFamily::V6, 66) if self.random.chance(1, 2) => codes.push(41),
            _ => {}
        }
        Term::Option(self.path(codes, true))
    }

    fn vendor(&mut self) -> Term {
        let codes = vec![self.pick(&INNER)];
        let path = Some(self.path(codes, false));
        Term::Vendor { enterprise: self.enterprise(), path }
    }

    /// Returns a term that `exists` can test.
    fn existing(&mut self) -> Term {
        let mut term = match self.below(5) {
            0 => Term::Vendor { enterprise: self.enterprise(), path: None },
            1 => Term::VendorClass { enterprise: self.enterprise() },
            2 => self.vendor(),
            _ => self.option(),
        };
        if let Term::Option(path) | Term::Vendor { path: Some(path), .. } = &mut term
            && path.form == OptionValueForm::Printed(Print::Octets)
        {
            path.form = OptionValueForm::Octets;
        }
        term
    }

    fn term(&mut self) -> Term {
        match self.below(10) {
            0 => Term::Packet(self.pick(&PACKET_FIELDS)),
            1 => self.vendor(),
            2 => Term::VendorEnterprise,
            3 => Term::VendorClassEnterprise,
            4 => {
                let index = self.below(3) as u8;
                Term::VendorClassData { enterprise: self.enterprise(), index }
            }
            5 if self.family == MessageFamily::V4 => Term::Field4(self.pick(&FIELDS4)),
            5 => Term::Field6(self.pick(&[Field6::MessageType, Field6::TransactionId])),
            6 if self.family == MessageFamily::V6 => {
                let level = self.below(6) as i8 - 3;
                Term::RelayAddress { level, peer: self.random.chance(1, 2) }
            }
            7 if self.family == MessageFamily::V6 => {
                let level = self.below(6) as i8 - 3;
                let codes = vec![self.pick(&[18, 38, 9])];
                Term::RelayOption { level, path: self.path(codes, true) }
            }
            _ => self.option(),
        }
    }
}
