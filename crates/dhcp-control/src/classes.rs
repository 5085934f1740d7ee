//! Control commands of the hook library `class_cmds`, which show and change client classes.

use dhcp_config::Hook;
use serde_json::{Value, json};

use crate::answer::{CommandAnswer, Outcome, ResultCode};
use crate::arguments::{ArgumentFields, ReceivedCommand};
use crate::backend::CommandBackend;
use crate::command::CommandDefinition;
use crate::configuration::{edit, root};
use crate::document::items;
use crate::family::CommandFamily;
use crate::text::type_name;

/// Configuration key of the list of client classes.
const CLASSES: &str = "client-classes";

/// Returns the definitions of all commands of the hook library `class_cmds`.
pub(crate) fn commands<F: CommandFamily>() -> Vec<CommandDefinition<F>> {
    let of = |name, run| CommandDefinition::for_hook(Hook::ClassCommands, name, run);
    vec![
        of("class-add", add),
        of("class-del", delete),
        of("class-get", get),
        of("class-list", list),
        of("class-update", update),
    ]
}

/// Returns the arguments of a command about classes, which must be a map that is not empty.
fn arguments<'a>(request: &ReceivedCommand<'a>) -> Result<ArgumentFields<'a>, CommandAnswer> {
    let name = request.name;
    match request.arguments {
        None => {
            Err(CommandAnswer::error(format!("invalid command '{name}': no arguments specified")))
        }
        Some(Value::Object(map)) if map.is_empty() => {
            Err(CommandAnswer::error(format!("invalid command '{name}': 'arguments' is empty")))
        }
        Some(Value::Object(map)) => Ok(ArgumentFields(map)),
        Some(other) => Err(CommandAnswer::error(format!(
            "invalid command '{name}': expected 'arguments' to be a map, got {} instead",
            type_name(other)
        ))),
    }
}

/// Returns the value of the argument `key`, which must be the command's only one; `wants` is its
/// type in error texts.
fn only<'a>(
    request: &ReceivedCommand<'a>,
    key: &str,
    wants: &str,
) -> Result<&'a Value, CommandAnswer> {
    let (fields, name) = (arguments(request)?, request.name);
    if fields.0.len() != 1 {
        return Err(CommandAnswer::error(format!(
            "invalid number of arguments {} for the '{name}' command. Expecting '{key}' {wants}",
            fields.0.len()
        )));
    }
    fields.get(key).ok_or_else(|| {
        CommandAnswer::error(format!("missing '{key}' argument for the '{name}' command"))
    })
}

/// Returns the client class in a command's arguments, and its name.
fn class_argument<'a>(
    request: &ReceivedCommand<'a>,
) -> Result<(&'a Value, &'a str), CommandAnswer> {
    let name = request.name;
    let Value::Array(classes) = only(request, CLASSES, "list")? else {
        return Err(CommandAnswer::error(format!(
            "'{CLASSES}' argument specified for the '{name}' command is not a list"
        )));
    };
    let [class] = classes.as_slice() else {
        return Err(CommandAnswer::error(format!(
            "invalid number of classes specified for the '{name}' command. Expected one class"
        )));
    };
    let Value::Object(map) = class else {
        return Err(CommandAnswer::error(format!(
            "invalid class definition specified for the '{name}' command. Expected a map"
        )));
    };
    let class_name = ArgumentFields(map).text("name")?;
    Ok((class, class_name))
}

/// Returns the name of a client class in a command's arguments.
fn name_argument<'a>(request: &ReceivedCommand<'a>) -> Result<&'a str, CommandAnswer> {
    only(request, "name", "string")?.as_str().ok_or_else(|| {
        let name = request.name;
        CommandAnswer::error(format!(
            "'name' argument specified for the '{name}' command is not a string"
        ))
    })
}

fn position(classes: &[Value], name: &str) -> Option<usize> {
    classes.iter().position(|class| class["name"] == name)
}

fn add<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let (class, name) = class_argument(request)?;
    edit(backend, |root| {
        let classes = root.list(CLASSES);
        if position(classes, name).is_some() {
            return Err(CommandAnswer::error(format!(
                "Client Class: {name} has already been defined"
            )));
        }
        classes.push(class.clone());
        Ok(CommandAnswer::success(format!("Class '{name}' added")))
    })
}

fn update<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let (class, name) = class_argument(request)?;
    edit(backend, |root| {
        let classes = root.list(CLASSES);
        let Some(index) = position(classes, name) else {
            return Ok(CommandAnswer::empty(format!("Class '{name}' is not found")));
        };
        let mut class = class.clone();
        // A template stays a template: its clients' classes were made from it.
        if let (Some(test), None) =
            (classes[index].get("template-test"), class.get("template-test"))
        {
            class["template-test"] = test.clone();
        }
        // Other classes may depend on KNOWN and UNKNOWN through this class.
        if depends_on_known(&classes[..index], &class)
            != depends_on_known(&classes[..index], &classes[index])
        {
            return Err(CommandAnswer::error(format!(
                "modification of the class '{name}' would affect its dependency on the KNOWN \
                 and/or UNKNOWN built-in classes. Such modification is not allowed because there \
                 may be other classes depending on those built-ins via the updated class"
            )));
        }
        classes[index] = class;
        Ok(CommandAnswer::success(format!("Class '{name}' updated")))
    })
}

fn delete<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let name = name_argument(request)?;
    edit(backend, |root| {
        let classes = root.list(CLASSES);
        let Some(index) = position(classes, name) else {
            return Ok(CommandAnswer::empty(format!("Class '{name}' not found")));
        };
        let asks =
            |class: &&Value| test_of(class).is_some_and(|(test, _)| has_member_call(test, name));
        let user = classes.iter().find(asks);
        if let Some(user) = user {
            let user = user["name"].as_str().unwrap_or_default();
            return Err(CommandAnswer::error(format!("Class '{name}' is used by class '{user}'")));
        }
        classes.remove(index);
        Ok(CommandAnswer::success(format!("Class '{name}' deleted")))
    })
}

/// Returns the test expression of a client class, and true if the class is a template.
fn test_of(class: &Value) -> Option<(&str, bool)> {
    let text = |key: &str| class.get(key).and_then(Value::as_str);
    let template = text("template-test").map(|test| (test, true));
    template.or_else(|| text("test").map(|test| (test, false)))
}

/// Returns true if `class`, which follows the classes `before`, depends on the class `KNOWN` or
/// `UNKNOWN`: by itself, or, unless it is a template, through one of the classes `before`.
fn depends_on_known(before: &[Value], class: &Value) -> bool {
    let mut depending = vec!["KNOWN", "UNKNOWN"];
    let built_in = depending.len();
    let depends = |class: &Value, depending: &[&str]| {
        test_of(class).is_some_and(|(test, is_template)| {
            let by = if is_template { &depending[..built_in] } else { depending };
            by.iter().any(|name| has_member_call(test, name))
        })
    };
    for other in before {
        if depends(other, &depending) {
            depending.extend(other["name"].as_str());
        }
    }
    depends(class, &depending)
}

/// Returns true if the expression `test` contains `member('name')`.
fn has_member_call(test: &str, name: &str) -> bool {
    test.split("member").skip(1).any(|rest| {
        rest.trim_start()
            .strip_prefix('(')
            .and_then(|rest| rest.trim_start().strip_prefix('\''))
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with('\''))
    })
}

fn get<F: CommandFamily>(
    request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let name = name_argument(request)?;
    let classes = items(root(backend), CLASSES);
    match position(classes, name) {
        Some(index) => Ok(CommandAnswer::success(format!("Class '{name}' definition returned"))
            .and_arguments(json!({ CLASSES: [classes[index]] }))),
        None => Ok(CommandAnswer::empty(format!("Class '{name}' not found"))),
    }
}

fn list<F: CommandFamily>(
    _request: &ReceivedCommand<'_>,
    backend: &mut dyn CommandBackend<Family = F>,
) -> Outcome {
    let classes = items(root(backend), CLASSES);
    let names: Vec<Value> = classes.iter().map(|class| json!({ "name": class["name"] })).collect();
    let count = names.len();
    let result = if count == 0 { ResultCode::Empty } else { ResultCode::Success };
    let plural = if count == 1 { "" } else { "es" };
    Ok(CommandAnswer::text(result, format!("{count} class{plural} found"))
        .and_arguments(json!({ CLASSES: names })))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{depends_on_known, has_member_call};

    #[test]
    fn an_expression_s_classes_are_found() {
        assert!(has_member_call("not member('a') or member ( 'b c' )", "b c"));
        assert!(!has_member_call("member('abc') or option[1].text == 'ab'", "ab"));
    }

    #[test]
    fn a_dependency_may_go_through_other_classes() {
        let class = |name: &str, key: &str, test: &str| json!({ "name": name, key: test });
        let before: Vec<Value> = vec![
            class("direct", "test", "member('UNKNOWN') and option[1].exists"),
            class("through", "test", "not member('direct')"),
            class("template", "template-test", "ifelse(member('direct'), 'a', 'b')"),
            class("free", "test", "option[60].text == 'KNOWN'"),
            json!({ "name": "empty" }),
        ];
        let depends = |at: usize| depends_on_known(&before[..at], &before[at]);
        assert_eq!([0, 1, 2, 3, 4].map(depends), [true, true, false, false, false]);
    }
}
