//! The `arguments` of a command, read with Kea's words for what is wrong with them.
//!
//! Kea adds the place of the value in the command to some of its texts; values carry no places
//! here, so those texts end before it.

use core::str::FromStr;

use serde_json::{Map, Value};

use crate::answer::Answer;

/// One command as it was sent, its outer shape checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// The command's name.
    pub(crate) name: &'a str,
    /// What was sent with it, of any type.
    pub(crate) arguments: Option<&'a Value>,
}

impl<'a> Request<'a> {
    /// The arguments as a map.
    ///
    /// # Errors
    /// Those of [`Self::optional_map`], and none were sent.
    pub(crate) fn map(&self) -> Result<Fields<'a>, Answer> {
        self.optional_map()?
            .ok_or_else(|| Answer::error("Missing mandatory 'arguments' parameter."))
    }

    /// The arguments as a map, when there are any.
    ///
    /// # Errors
    /// They are something else.
    pub(crate) fn optional_map(&self) -> Result<Option<Fields<'a>>, Answer> {
        match self.arguments {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Fields(map))),
            Some(_) => Err(Answer::error("Argument must be a map")),
        }
    }

    /// The arguments as a map, with the words that the hook libraries of subnets and classes use.
    ///
    /// # Errors
    /// There are none, or they are something else.
    pub(crate) fn named_map(&self) -> Result<Fields<'a>, Answer> {
        let name = self.name;
        match self.arguments {
            None => Err(Answer::error(format!("no arguments specified for the '{name}' command"))),
            Some(Value::Object(map)) => Ok(Fields(map)),
            Some(_) => Err(Answer::error(format!(
                "arguments specified for the '{name}' command are not a map"
            ))),
        }
    }
}

/// The fields of a map.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(pub(crate) &'a Map<String, Value>);

/// An integer of any size that JSON values hold; numbers with a fraction are none.
pub(crate) fn integer(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

fn wrong_type(name: &str) -> Answer {
    Answer::error(format!("invalid type specified for parameter '{name}'"))
}

impl<'a> Fields<'a> {
    /// The field `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    /// The field `name`, which must be there.
    pub(crate) fn require(&self, name: &str) -> Result<&'a Value, Answer> {
        self.get(name).ok_or_else(|| Answer::error(format!("missing parameter '{name}'")))
    }

    /// A text that must be there.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, Answer> {
        self.require(name)?.as_str().ok_or_else(|| wrong_type(name))
    }

    /// A text that may be missing.
    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, Answer> {
        self.get(name).map(|_| self.text(name)).transpose()
    }

    /// A truth value; `false` when missing.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Answer> {
        self.get(name).map_or(Ok(false), |value| value.as_bool().ok_or_else(|| wrong_type(name)))
    }

    /// An integer that fits `T` and must be there.
    pub(crate) fn number<T: TryFrom<i128>>(&self, name: &str) -> Result<T, Answer> {
        let value = integer(self.require(name)?).ok_or_else(|| wrong_type(name))?;
        T::try_from(value).map_err(|_| {
            Answer::error(format!("out of range value ({value}) specified for parameter '{name}'"))
        })
    }

    /// An integer that fits `T`, when there is one.
    pub(crate) fn optional_number<T: TryFrom<i128>>(
        &self,
        name: &str,
    ) -> Result<Option<T>, Answer> {
        self.get(name).map(|_| self.number(name)).transpose()
    }

    /// An IP address of the type `Ip` that must be there. `family` is 4 or 6.
    pub(crate) fn address<Ip: FromStr>(&self, name: &str, family: u8) -> Result<Ip, Answer> {
        let text = self.text(name)?;
        if let Ok(address) = text.parse() {
            return Ok(address);
        }
        Err(Answer::error(match text.parse::<core::net::IpAddr>() {
            Ok(other) => format!("Non-IPv{family} address specified: {other}"),
            Err(_) => format!("Failed to convert '{text}' to address: {}", not_an_address(text)),
        }))
    }
}

/// Kea's words for a text that is no address of either family.
pub(crate) fn not_an_address(text: &str) -> String {
    format!("Failed to convert string to address '{text}': Invalid argument")
}
