//! Requests of a browser to the results server: the parts that an answer depends on.

use hyper::Method;

/// Request of a browser to the results server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BrowserRequest {
    pub(super) method: Method,
    /// Path of the request without the query, decoded.
    pub(super) path: String,
    /// Fields of the request's query, decoded.
    pub(super) query: UrlEncodedFields,
    /// Fields of the form that the browser sent, decoded; empty for requests without a form.
    pub(super) form: UrlEncodedFields,
    /// Value of the `Host` header of the browser's request.
    pub(super) host: String,
    /// Origin of the page that sends the request; `None` where the browser does not report it.
    pub(super) origin: Option<String>,
}

/// Fields of a URL's query or of a form: names and values in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UrlEncodedFields(Vec<(String, String)>);

impl UrlEncodedFields {
    /// Parses the fields of a URL's query or of a form, `a=1&b=2`, with `+` for a space and `%41`
    /// for bytes. `None` when the result is no text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let decoded = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decoded(&name.replace('+', " "))?, decoded(&value.replace('+', " "))?))
        });
        decoded.collect::<Option<_>>().map(Self)
    }

    /// Returns the first value of the field `name` that is not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let values = self.0.iter().filter(|(other, _)| other == name);
        values.map(|(_, value)| value.as_str()).find(|value| !value.is_empty())
    }
}

/// Decodes `%41` in `text` to bytes; `None` when the result is no text.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(octet) = rest.next() {
        if octet == b'%' {
            let digit = |octet: Option<u8>| char::from(octet?).to_digit(16);
            octets.push((digit(rest.next())? * 16 + digit(rest.next())?) as u8);
        } else {
            octets.push(octet);
        }
    }
    String::from_utf8(octets).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_read_as_browsers_write_them() {
        let fields = UrlEncodedFields::parse("q=a+b%20c&margin=&run=x%2Fy&q=second&flag").unwrap();
        assert_eq!(fields.get("q"), Some("a b c"));
        assert_eq!(fields.get("run"), Some("x/y"));
        assert_eq!(
            (fields.get("margin"), fields.get("flag"), fields.get("no")),
            (None, None, None)
        );
        assert_eq!(UrlEncodedFields::parse(""), Some(UrlEncodedFields::default()));
        for odd in ["q=%", "q=%4", "q=%zz", "q=%ff", "%+1=2"] {
            assert_eq!(UrlEncodedFields::parse(odd), None, "{odd}");
        }
        assert_eq!(decoded("/results/%C3%A9+"), Some("/results/é+".to_owned()));
    }
}
