//! Long lists of configurations.

/// Returns `item` of each number below `count`, as the inside of a list.
pub fn list(count: u32, item: impl Fn(u32) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(", ")
}

/// Returns a key with classes that no client is in; `test` makes the test of each.
pub fn classes(count: u32, test: impl Fn(u32) -> String) -> String {
    let class = |n| match test(n) {
        test if test.is_empty() => format!("{{ \"name\": \"c{n}\" }}"),
        test => format!("{{ \"name\": \"c{n}\", \"test\": \"{test}\" }}"),
    };
    format!("\"client-classes\": [ {} ]", list(count, class))
}

/// Returns a key with the flex-id library.
pub fn flex_id(expression: &str) -> String {
    format!(
        "\"hooks-libraries\": [ {{ \"library\": \"libdhcp_flex_id.so\", \"parameters\": {{ \
         \"identifier-expression\": \"{expression}\" }} }} ]"
    )
}
