//! Parses the terms of expressions that read messages: options, fields, additions of relay agents
//! and vendors.

use super::{
    Condition, ExpressionParser, ExpressionToken, ParsedExpression, TextExpression, error,
};
use crate::expression::{
    ExpressionError, Field4, Field6, OptionPath, OptionValueForm, PacketField, Print, Term,
};

/// Code of DHCPv4's relay agent information option (RFC 3046).
const RELAY_AGENT_INFORMATION: u16 = 82;
/// Sub-option codes of DHCPv4's relay agent information whose values are characters.
const RELAY_CHARACTERS: [u16; 4] = [6, 14, 15, 17];
/// Code of DHCPv4's client FQDN option (RFC 4702).
const CLIENT_FQDN_4: u16 = 81;
/// Code of DHCPv6's client FQDN option (RFC 4704).
const CLIENT_FQDN_6: u16 = 39;
/// Number of relay agents of a DHCPv6 message that expressions can name, from either end, as in
/// Kea.
const LEVELS_MAX: i64 = 32;

const PACKET_FIELDS: [(&str, PacketField); 4] = [
    ("iface", PacketField::Interface),
    ("src", PacketField::Source),
    ("dst", PacketField::Destination),
    ("len", PacketField::Length),
];

const FIELDS4: [(&str, Field4); 9] = [
    ("mac", Field4::HardwareAddress),
    ("hlen", Field4::HardwareLength),
    ("htype", Field4::HardwareType),
    ("ciaddr", Field4::Ciaddr),
    ("giaddr", Field4::Giaddr),
    ("yiaddr", Field4::Yiaddr),
    ("siaddr", Field4::Siaddr),
    ("msgtype", Field4::MessageType),
    ("transid", Field4::TransactionId),
];

const FIELDS6: [(&str, Field6); 2] =
    [("msgtype", Field6::MessageType), ("transid", Field6::TransactionId)];

/// Part of an option that an expression uses: `.exists`, `.hex` or `.text`.
enum OptionAccessor {
    Exists,
    Octets,
    Text,
}

fn value(term: Term) -> ParsedExpression {
    ParsedExpression::Text(TextExpression::Value(term))
}

impl ExpressionParser<'_> {
    /// Parses the rest of a term of an expression, after its first word `word`.
    pub(super) fn term(
        &mut self,
        at: usize,
        word: &str,
    ) -> Result<ParsedExpression, ExpressionError> {
        match word {
            "option" => {
                let code = self.code(true)?;
                self.chain(vec![code], false, Term::Option)
            }
            "relay4" => {
                self.only(at, word, false)?;
                let code = self.code(false)?;
                self.chain(vec![RELAY_AGENT_INFORMATION, code], true, Term::Option)
            }
            "relay6" => {
                self.only(at, word, true)?;
                self.relay6()
            }
            "vendor" => self.vendor(),
            "vendor-class" => self.vendor_class(),
            "pkt" => Ok(value(Term::Packet(self.field(&PACKET_FIELDS)?))),
            "pkt4" => {
                self.only(at, word, false)?;
                Ok(value(Term::Field4(self.field(&FIELDS4)?)))
            }
            "pkt6" => {
                self.only(at, word, true)?;
                Ok(value(Term::Field6(self.field(&FIELDS6)?)))
            }
            _ => error(at, format!("`{word}` is not expected here")),
        }
    }

    /// Checks that the expression's family has the word `word`; an error if only the other family
    /// has it.
    fn only(&self, at: usize, word: &str, v6: bool) -> Result<(), ExpressionError> {
        if self.vocabulary.is_v6() == v6 {
            return Ok(());
        }
        error(at, format!("`{word}` exists in {} only", if v6 { "DHCPv6" } else { "DHCPv4" }))
    }

    /// Parses `.name`, where `name` is one of `fields`, and returns that field.
    fn field<T: Copy>(&mut self, fields: &[(&str, T)]) -> Result<T, ExpressionError> {
        self.expect(".")?;
        let (at, token) = self.take();
        if let ExpressionToken::Word(word) = token
            && let Some(&(_, field)) = fields.iter().find(|(name, _)| *name == word)
        {
            return Ok(field);
        }
        let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        error(at, format!("{} is not one of: {}", token.name(), names.join(", ")))
    }

    /// Parses an option code, `[code]`, or `[name]` where names are known.
    fn code(&mut self, has_names: bool) -> Result<u16, ExpressionError> {
        self.expect("[")?;
        let code = match self.peek().clone() {
            (at, ExpressionToken::OptionName(name)) if has_names => {
                self.next += 1;
                match self.vocabulary.option_code(&name) {
                    Some(code) => code,
                    None => return error(at, format!("option `{name}` is not defined")),
                }
            }
            (at, ExpressionToken::OptionName(name)) => {
                return error(at, format!("`{name}`: name sub-options by their codes"));
            }
            _ => {
                let most = if self.vocabulary.is_v6() { i64::from(u16::MAX) } else { 255 };
                u16::try_from(self.integer(0, most)?).expect("checked against the range")
            }
        };
        self.expect("]")?;
        Ok(code)
    }

    /// Parses the tokens after an option: further options inside of it, then the part of it that
    /// the expression uses. `has_names`: the inner options may have names.
    fn chain(
        &mut self,
        mut codes: Vec<u16>,
        has_names: bool,
        term: impl FnOnce(OptionPath) -> Term,
    ) -> Result<ParsedExpression, ExpressionError> {
        let accessor = loop {
            self.expect(".")?;
            match self.take() {
                (_, ExpressionToken::Word("option")) => codes.push(self.code(has_names)?),
                (_, ExpressionToken::Word("exists")) => break OptionAccessor::Exists,
                (_, ExpressionToken::Word("hex")) => break OptionAccessor::Octets,
                (_, ExpressionToken::Word("text")) => break OptionAccessor::Text,
                (at, token) => {
                    let name = token.name();
                    return error(at, format!("{name} is not one of: hex, text, exists, option"));
                }
            }
        };
        let characters = self.holds_characters(&codes);
        let form = match accessor {
            _ if characters => OptionValueForm::Characters,
            OptionAccessor::Text => OptionValueForm::Printed(self.printed(&codes)),
            OptionAccessor::Exists | OptionAccessor::Octets => OptionValueForm::Octets,
        };
        let term = term(OptionPath { codes, form });
        Ok(match accessor {
            OptionAccessor::Exists => ParsedExpression::Condition(Condition::Exists(term)),
            OptionAccessor::Octets | OptionAccessor::Text => value(term),
        })
    }

    fn holds_characters(&self, codes: &[u16]) -> bool {
        match *codes {
            [code] => self.vocabulary.holds_characters(code),
            [RELAY_AGENT_INFORMATION, code] if !self.vocabulary.is_v6() => {
                RELAY_CHARACTERS.contains(&code)
            }
            _ => false,
        }
    }

    /// Returns the form in which Kea prints the option at the end of the path `codes`.
    fn printed(&self, codes: &[u16]) -> Print {
        let [code] = *codes else { return Print::Octets };
        match code {
            CLIENT_FQDN_4 if !self.vocabulary.is_v6() => Print::ClientFqdn4,
            CLIENT_FQDN_6 if self.vocabulary.is_v6() => Print::ClientFqdn6,
            code => self
                .vocabulary
                .values(code)
                .map_or(Print::Octets, |(field, is_array)| Print::Values { field, is_array }),
        }
    }

    fn relay6(&mut self) -> Result<ParsedExpression, ExpressionError> {
        self.expect("[")?;
        let level = self.integer(-LEVELS_MAX, LEVELS_MAX - 1)?;
        let level = i8::try_from(level).expect("checked against the range");
        self.expect("]")?;
        self.expect(".")?;
        match self.take() {
            (_, ExpressionToken::Word("option")) => {
                let code = self.code(true)?;
                self.chain(vec![code], true, |path| Term::RelayOption { level, path })
            }
            (_, ExpressionToken::Word("peeraddr")) => {
                Ok(value(Term::RelayAddress { level, peer: true }))
            }
            (_, ExpressionToken::Word("linkaddr")) => {
                Ok(value(Term::RelayAddress { level, peer: false }))
            }
            (at, token) => {
                error(at, format!("{} is not one of: option, peeraddr, linkaddr", token.name()))
            }
        }
    }

    /// Parses an enterprise number in brackets, `[enterprise]`; returns `None` for 0 and `*`, which
    /// mean any.
    fn enterprise(&mut self) -> Result<Option<u32>, ExpressionError> {
        self.expect("[")?;
        let number = if self.takes("*") { 0 } else { self.integer(0, u32::MAX.into())? };
        self.expect("]")?;
        let number = u32::try_from(number).expect("checked against the range");
        Ok(Some(number).filter(|number| *number != 0))
    }

    fn vendor(&mut self) -> Result<ParsedExpression, ExpressionError> {
        if self.takes(".") {
            self.expect("enterprise")?;
            return Ok(value(Term::VendorEnterprise));
        }
        let enterprise = self.enterprise()?;
        self.expect(".")?;
        match self.take() {
            (_, ExpressionToken::Word("exists")) => {
                Ok(ParsedExpression::Condition(Condition::Exists(Term::Vendor {
                    enterprise,
                    path: None,
                })))
            }
            (_, ExpressionToken::Word("option")) => {
                let code = self.code(false)?;
                // The first code is not one of the family's own options.
                self.vendor_chain(vec![code], enterprise)
            }
            (at, token) => error(at, format!("{} is not one of: option, exists", token.name())),
        }
    }

    fn vendor_chain(
        &mut self,
        codes: Vec<u16>,
        enterprise: Option<u32>,
    ) -> Result<ParsedExpression, ExpressionError> {
        self.chain(codes, true, |path| {
            let form = match path.form {
                OptionValueForm::Characters => OptionValueForm::Octets,
                OptionValueForm::Printed(_) => OptionValueForm::Printed(Print::Octets),
                form @ OptionValueForm::Octets => form,
            };
            Term::Vendor { enterprise, path: Some(OptionPath { form, ..path }) }
        })
    }

    fn vendor_class(&mut self) -> Result<ParsedExpression, ExpressionError> {
        if self.takes(".") {
            self.expect("enterprise")?;
            return Ok(value(Term::VendorClassEnterprise));
        }
        let enterprise = self.enterprise()?;
        self.expect(".")?;
        match self.take() {
            (_, ExpressionToken::Word("exists")) => {
                Ok(ParsedExpression::Condition(Condition::Exists(Term::VendorClass { enterprise })))
            }
            (_, ExpressionToken::Word("data")) => {
                let mut index = 0;
                if self.takes("[") {
                    index = self.integer(0, u8::MAX.into())?;
                    self.expect("]")?;
                }
                let index = u8::try_from(index).expect("checked against the range");
                Ok(value(Term::VendorClassData { enterprise, index }))
            }
            (at, token) => error(at, format!("{} is not one of: data, exists", token.name())),
        }
    }
}
