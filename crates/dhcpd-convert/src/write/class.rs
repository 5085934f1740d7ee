//! Client classes of `class`, `subclass` and of global conditions.

use super::lifetime::has_lifetimes;
use super::{ConfigWriter, fields, setting_names};
use crate::json::{OrderedJson, OrderedMap};
use crate::model::DeclaredClass;
use crate::read::bracketed;
use crate::settings::{Branch, ScopeSettings};

impl ConfigWriter<'_> {
    /// Writes the classes that the server evaluates for each message.
    pub(super) fn write_classes(&mut self) {
        let model = self.model;
        self.host_classes();
        for class in &model.classes {
            self.class(class);
        }
        let global = &model.global;
        // A scope inside may set what a global condition sets, and takes precedence in dhcpd.
        let is_late = global.branches.iter().any(|branch| {
            let own = setting_names(self.registry, &branch.settings, &[global]);
            own.iter().any(|name| self.contested.contains(name))
        });
        for (number, branch) in global.branches.iter().enumerate().rev() {
            let name = format!("if-{}", number + 1);
            let Some(class) = self.branch_class(branch, &[global], &name, is_late) else {
                continue;
            };
            if is_late {
                self.additional.push(class);
                self.late_global.push(name);
            } else {
                self.classes.push(class);
            }
        }
        self.note_server_options(global);
    }

    fn class(&mut self, class: &DeclaredClass) {
        let global = &self.model.global;
        if class.settings.ignored.is_some() {
            self.drop_tests.push(format!("member('{}')", class.name));
        }
        let test = whole_test(class);
        for (number, subclass) in class.subclasses.iter().enumerate() {
            let name = format!("{}-{}", class.name, number + 1);
            let settings = subclass.settings.clone();
            let branch = Branch { at: subclass.at, test: subclass.test.clone(), settings };
            let own = self.branch_class(&branch, &[global, &class.settings], &name, false);
            self.classes.extend(own);
        }
        let inner = class.settings.branches.iter().enumerate().rev();
        for (number, branch) in inner {
            let condition = [test.as_deref().map(bracketed), Some(bracketed(&branch.test))];
            let condition: Vec<String> = condition.into_iter().flatten().collect();
            let name = format!("{}-if-{}", class.name, number + 1);
            let branch = Branch { test: condition.join(" and "), ..branch.clone() };
            let own = self.branch_class(&branch, &[global, &class.settings], &name, false);
            self.classes.extend(own);
        }
        let mut map = OrderedMap::default();
        map.put("name", class.name.as_str());
        match (&class.template, test) {
            (Some(template), _) => map.put("template-test", template.as_str()),
            (None, Some(test)) => map.put("test", test),
            // A class without members.
            (None, None) => map.put("test", "'a' == 'b'"),
        }
        map.append(self.class_content(&class.settings));
        self.classes.push(map.into());
    }

    fn class_content(&mut self, settings: &ScopeSettings) -> OrderedMap {
        let global = &self.model.global;
        self.note_server_options(settings);
        let mut map = fields(settings);
        if has_lifetimes(settings) {
            map.append(self.class_lifetimes(&[global, settings]));
        }
        let options = settings.resolved(self.registry, &[global]);
        map.put_list("option-data", self.option_data(&options));
        map
    }

    /// Returns the lifetimes that hold in the innermost scope of `chain`, as a class has them.
    pub(super) fn class_lifetimes(&self, chain: &[&ScopeSettings]) -> OrderedMap {
        self.lifetimes(chain)
    }

    /// Returns the class whose members' messages the server drops.
    pub(super) fn drop_class(&self) -> Vec<OrderedJson> {
        if self.drop_tests.is_empty() {
            return Vec::new();
        }
        let tests: Vec<String> = self.drop_tests.iter().map(|test| bracketed(test)).collect();
        let mut map = OrderedMap::default();
        map.put("name", "DROP");
        map.put("test", tests.join(" or "));
        vec![map.into()]
    }
}

/// Returns the condition of `class`: its own, or that of one of its subclasses.
fn whole_test(class: &DeclaredClass) -> Option<String> {
    let subclasses = class.subclasses.iter().map(|subclass| bracketed(&subclass.test));
    let tests: Vec<String> = class.test.iter().cloned().chain(subclasses).collect();
    (!tests.is_empty()).then(|| tests.join(" or "))
}
