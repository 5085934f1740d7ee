//! Reader of a control command's `arguments`, with Kea's error texts.
//!
//! Kea appends the position of the value in the command to some of its texts; values have no
//! positions here, so those texts end before it.

use core::str::FromStr;

use serde_json::{Map, Value};

use crate::answer::CommandAnswer;

/// Control command as the client sent it, with its outer form checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedCommand<'a> {
    /// Name of the control command.
    pub(crate) name: &'a str,
    /// Arguments of the command, a JSON value of any type; `None` if the client sent none.
    pub(crate) arguments: Option<&'a Value>,
}

impl<'a> ReceivedCommand<'a> {
    /// Returns the arguments of the command as a map.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Self::optional_map`], or an error if there are no arguments.
    pub(crate) fn map(&self) -> Result<ArgumentFields<'a>, CommandAnswer> {
        self.optional_map()?
            .ok_or_else(|| CommandAnswer::error("Missing mandatory 'arguments' parameter."))
    }

    /// Returns the arguments of the command as a map, if there are any.
    ///
    /// # Errors
    ///
    /// Returns an error answer if the arguments are not a map.
    pub(crate) fn optional_map(&self) -> Result<Option<ArgumentFields<'a>>, CommandAnswer> {
        match self.arguments {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(ArgumentFields(map))),
            Some(_) => Err(CommandAnswer::error("Argument must be a map")),
        }
    }

    /// Returns the arguments of the command as a map, with the error texts of the hook libraries
    /// for subnets and classes.
    ///
    /// # Errors
    ///
    /// Returns an error if there are no arguments, or if they are not a map.
    pub(crate) fn named_map(&self) -> Result<ArgumentFields<'a>, CommandAnswer> {
        let name = self.name;
        match self.arguments {
            None => Err(CommandAnswer::error(format!(
                "no arguments specified for the '{name}' command"
            ))),
            Some(Value::Object(map)) => Ok(ArgumentFields(map)),
            Some(_) => Err(CommandAnswer::error(format!(
                "arguments specified for the '{name}' command are not a map"
            ))),
        }
    }
}

/// Fields of a map in a command's arguments.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentFields<'a>(pub(crate) &'a Map<String, Value>);

/// Returns the integer in a JSON value, of any size that JSON values hold; `None` for numbers with
/// a fraction.
pub(crate) fn integer(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

fn wrong_type(name: &str) -> CommandAnswer {
    CommandAnswer::error(format!("invalid type specified for parameter '{name}'"))
}

impl<'a> ArgumentFields<'a> {
    /// Returns the field `name` of the map, if it exists.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    /// Returns the field `name` of the map; an error answer if it is missing.
    pub(crate) fn require(&self, name: &str) -> Result<&'a Value, CommandAnswer> {
        self.get(name).ok_or_else(|| CommandAnswer::error(format!("missing parameter '{name}'")))
    }

    /// Returns the text in the field `name`; an error answer if it is missing or no text.
    pub(crate) fn text(&self, name: &str) -> Result<&'a str, CommandAnswer> {
        self.require(name)?.as_str().ok_or_else(|| wrong_type(name))
    }

    /// Returns the text in the field `name`, if it exists.
    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, CommandAnswer> {
        self.get(name).map(|_| self.text(name)).transpose()
    }

    /// Returns the truth value in the field `name`; `false` if it is missing.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, CommandAnswer> {
        self.get(name).map_or(Ok(false), |value| value.as_bool().ok_or_else(|| wrong_type(name)))
    }

    /// Returns the integer in the field `name`, which must exist and fit `T`.
    pub(crate) fn number<T: TryFrom<i128>>(&self, name: &str) -> Result<T, CommandAnswer> {
        let value = integer(self.require(name)?).ok_or_else(|| wrong_type(name))?;
        T::try_from(value).map_err(|_| {
            CommandAnswer::error(format!(
                "out of range value ({value}) specified for parameter '{name}'"
            ))
        })
    }

    /// Returns the integer in the field `name` if it exists; it must fit `T`.
    pub(crate) fn optional_number<T: TryFrom<i128>>(
        &self,
        name: &str,
    ) -> Result<Option<T>, CommandAnswer> {
        self.get(name).map(|_| self.number(name)).transpose()
    }

    /// Returns the IP address in the field `name`, which must exist and be of the type `Ip`.
    /// `family` is 4 or 6.
    pub(crate) fn address<Ip: FromStr>(&self, name: &str, family: u8) -> Result<Ip, CommandAnswer> {
        let text = self.text(name)?;
        if let Ok(address) = text.parse() {
            return Ok(address);
        }
        Err(CommandAnswer::error(match text.parse::<core::net::IpAddr>() {
            Ok(other) => format!("Non-IPv{family} address specified: {other}"),
            Err(_) => format!("Failed to convert '{text}' to address: {}", not_an_address(text)),
        }))
    }
}

/// Returns Kea's error text about `text`, which is no IP address of either family.
pub(crate) fn not_an_address(text: &str) -> String {
    format!("Failed to convert string to address '{text}': Invalid argument")
}
