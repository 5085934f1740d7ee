//! JSON values whose members keep their order, and their text.

use core::fmt::Write;

/// JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OrderedJson {
    Text(String),
    Number(u64),
    Boolean(bool),
    List(Vec<OrderedJson>),
    Map(OrderedMap),
}

/// JSON map whose members keep their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OrderedMap(Vec<(String, OrderedJson)>);

impl OrderedMap {
    pub(crate) fn put(&mut self, key: &str, value: impl Into<OrderedJson>) {
        self.0.push((key.to_owned(), value.into()));
    }

    /// Adds `list` under `key` unless it is empty.
    pub(crate) fn put_list(&mut self, key: &str, list: Vec<OrderedJson>) {
        if !list.is_empty() {
            self.put(key, OrderedJson::List(list));
        }
    }

    /// Adds `value` under `key` if there is one.
    pub(crate) fn put_some(&mut self, key: &str, value: Option<impl Into<OrderedJson>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// Adds `item` in front of the list under `key`, which may be missing.
    pub(crate) fn prepend(&mut self, key: &str, item: OrderedJson) {
        let known = self.0.iter_mut().find(|(own, _)| own == key);
        match known {
            Some((_, OrderedJson::List(items))) => items.insert(0, item),
            _ => self.put(key, vec![item]),
        }
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        self.0.append(&mut other.0);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for OrderedJson {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for OrderedJson {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for OrderedJson {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for OrderedJson {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<bool> for OrderedJson {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<OrderedMap> for OrderedJson {
    fn from(map: OrderedMap) -> Self {
        Self::Map(map)
    }
}

impl From<Vec<OrderedJson>> for OrderedJson {
    fn from(list: Vec<OrderedJson>) -> Self {
        Self::List(list)
    }
}

/// Maximum width of a map or list that is written in one line.
const WIDTH_MAX: usize = 90;

impl OrderedJson {
    /// Returns the value as text; small maps and lists are in one line.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, 0);
        text.push('\n');
        text
    }

    fn write(&self, text: &mut String, indent: usize) {
        let line = self.line();
        let is_small = line.len() + indent <= WIDTH_MAX;
        match self {
            Self::List(items) if !is_small => {
                write_members(text, indent, ['[', ']'], items, |text, item| {
                    item.write(text, indent + 2);
                });
            }
            Self::Map(OrderedMap(members)) if !is_small || indent == 0 => {
                write_members(text, indent, ['{', '}'], members, |text, (key, value)| {
                    text.push_str(&quoted(key));
                    text.push_str(": ");
                    value.write(text, indent + 2);
                });
            }
            _ => text.push_str(&line),
        }
    }

    /// Returns the value in one line.
    fn line(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Number(number) => number.to_string(),
            Self::Boolean(value) => value.to_string(),
            Self::List(items) if items.is_empty() => "[]".to_owned(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::line).collect();
                format!("[ {} ]", items.join(", "))
            }
            Self::Map(OrderedMap(members)) if members.is_empty() => "{}".to_owned(),
            Self::Map(OrderedMap(members)) => {
                let member =
                    |(key, value): &(String, Self)| format!("{}: {}", quoted(key), value.line());
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{{ {} }}", members.join(", "))
            }
        }
    }
}

fn write_members<M>(
    text: &mut String,
    indent: usize,
    [open, close]: [char; 2],
    members: &[M],
    mut write: impl FnMut(&mut String, &M),
) {
    text.push(open);
    for (number, member) in members.iter().enumerate() {
        text.push_str(if number == 0 { "\n" } else { ",\n" });
        text.push_str(&" ".repeat(indent + 2));
        write(text, member);
    }
    text.push('\n');
    text.push_str(&" ".repeat(indent));
    text.push(close);
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            character if character.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_in_one_line_and_order_is_kept() {
        let mut inner = OrderedMap::default();
        inner.put("z", "a\"\\\u{1}");
        inner.put("a", vec![1_u64.into(), true.into()]);
        let mut outer = OrderedMap::default();
        outer.put("x", inner);
        let expected = "{\n  \"x\": { \"z\": \"a\\\"\\\\\\u0001\", \"a\": [ 1, true ] }\n}\n";
        assert_eq!(OrderedJson::from(outer).text(), expected);
    }
}
