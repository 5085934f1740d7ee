//! Definitions of options in a dhcpd.conf: `option space` and `option NAME code N = TYPE`.

use super::{OptionField, OptionLayout, OptionRegistry, SpaceWidths};
use crate::lexer::{DhcpdToken, FilePosition};
use crate::note::ConversionError;
use crate::statement::DhcpdStatement;

impl OptionRegistry {
    /// Reads `statement` if it defines a space or an option, and returns true then.
    ///
    /// # Errors
    /// Returns the first word that dhcpd would not accept.
    pub(crate) fn define(&mut self, statement: &DhcpdStatement) -> Result<bool, ConversionError> {
        if statement.begins(&["option", "space"]) {
            self.define_space(statement)?;
            return Ok(true);
        }
        let is_definition = statement.begins(&["option"])
            && statement.words.get(2).is_some_and(|word| word.is_word("code"));
        if is_definition {
            self.define_option(statement)?;
        }
        Ok(is_definition)
    }

    fn define_space(&mut self, statement: &DhcpdStatement) -> Result<(), ConversionError> {
        let wrong = || ConversionError::new(statement.at, "`option space` needs a name");
        let name = statement.words.get(2).and_then(DhcpdToken::word).ok_or_else(wrong)?;
        let mut widths = SpaceWidths { code: 1, length: 1 };
        if self.is_v6 {
            widths = SpaceWidths { code: 2, length: 2 };
        }
        let mut words = statement.after(3).iter();
        while let Some(word) = words.next() {
            if word.is_word("hash") {
                words.next();
                words.next();
                continue;
            }
            let number = words.nth(1).and_then(DhcpdToken::word);
            let number = number.and_then(|number| number.parse().ok());
            let number = number.filter(|number| [0, 1, 2, 4].contains(number));
            let message = "the width must be 0, 1, 2 or 4";
            let number = number.ok_or_else(|| ConversionError::new(word.at, message))?;
            if word.is_word("code") {
                widths.code = number;
            } else if word.is_word("length") {
                widths.length = number;
            } else {
                let message = format!("`{}` is no property of an option space", word.shown());
                return Err(ConversionError::new(word.at, message));
            }
        }
        self.spaces.insert(name.to_owned(), widths);
        Ok(())
    }

    fn define_option(&mut self, statement: &DhcpdStatement) -> Result<(), ConversionError> {
        let at = statement.at;
        let wrong = |message: &str| ConversionError::new(at, message);
        let name = statement.words.get(1).and_then(DhcpdToken::word);
        let name = name.ok_or_else(|| wrong("the option needs a name"))?;
        let code = statement.words.get(3).and_then(DhcpdToken::word);
        let code = code.and_then(|code| code.parse().ok());
        let code = code.ok_or_else(|| wrong("the option needs a code from 0 to 65535"))?;
        if !statement.words.get(4).is_some_and(|word| word.is_sign("=")) {
            return Err(wrong("`=` is missing after the option's code"));
        }
        let layout = layout(at, statement.after(5))?;
        let (space, name) = name.split_once('.').unwrap_or(("dhcp", name));
        let space = self.canonical_space(space);
        self.custom.push((space.clone(), code));
        self.add(&space, code, name, layout);
        Ok(())
    }
}

/// Returns the layout that `words` describe: `array of`, types, and braces around several types.
fn layout(at: FilePosition, words: &[DhcpdToken]) -> Result<OptionLayout, ConversionError> {
    let mut layout = OptionLayout::new(&[], false);
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if ["{", "}", ","].iter().any(|sign| word.is_sign(sign)) {
            continue;
        }
        let next = |rest: &mut &[DhcpdToken]| -> Option<String> {
            let (first, after) = rest.split_first()?;
            *rest = after;
            first.keyword()
        };
        match word.keyword().unwrap_or_default().as_str() {
            "array" => {
                layout.repeats = true;
                next(&mut rest);
            }
            "unsigned" | "signed" => {
                next(&mut rest);
                let width = next(&mut rest);
                layout.fields.push(integer(word, width.as_deref(), word.is_word("signed"))?);
            }
            "integer" => {
                let width = next(&mut rest);
                layout.fields.push(integer(word, width.as_deref(), false)?);
            }
            "ip-address" => layout.fields.push(OptionField::Ipv4),
            "ip6-address" => layout.fields.push(OptionField::Ipv6),
            "boolean" => layout.fields.push(OptionField::Boolean),
            "text" => layout.fields.push(OptionField::Text),
            "string" => layout.fields.push(OptionField::Octets),
            "domain-name" => layout.fields.push(OptionField::Name),
            "domain-list" => {
                layout.fields.push(OptionField::Name);
                layout.repeats = true;
            }
            "compressed" => {}
            "encapsulate" => layout.encapsulates = next(&mut rest),
            other => {
                let message = format!("`{other}` is no type of an option");
                return Err(ConversionError::new(word.at, message));
            }
        }
    }
    if layout.fields.is_empty() && layout.encapsulates.is_none() {
        return Err(ConversionError::new(at, "the option needs a type"));
    }
    Ok(layout)
}

fn integer(
    word: &DhcpdToken,
    width: Option<&str>,
    is_signed: bool,
) -> Result<OptionField, ConversionError> {
    let width = match width {
        Some("8") => 1,
        Some("16") => 2,
        Some("32") => 4,
        _ => return Err(ConversionError::new(word.at, "integers have 8, 16 or 32 bits")),
    };
    Ok(if is_signed { OptionField::Signed(width) } else { OptionField::Unsigned(width) })
}
