//! Formats of lines by expressions over messages: `request-parser-format` and
//! `response-parser-format`.

use dhcp_config::LegalLog;
use dhcp_engine::InterfaceNames;
use dhcp_engine::classify::{ClassSet, Classes, PacketView, StringProgram, Workspace};

/// Compiled expressions that make the lines of leases.
#[derive(Debug)]
pub(crate) struct LineFormats {
    request: Option<StringProgram>,
    response: Option<StringProgram>,
    classes: Classes,
    pub(super) interfaces: InterfaceNames,
    /// Classes of the message, and of a reply, which has none.
    sets: [ClassSet; 2],
    class_work: Workspace,
    work: Workspace,
}

impl LineFormats {
    /// Compiles the expressions of `settings`, which may name the classes `classes`.
    pub(super) fn new(settings: &LegalLog, classes: Classes) -> Self {
        let program = |text| StringProgram::compile(text, &classes);
        Self {
            request: settings.request_format.as_ref().map(program),
            response: settings.response_format.as_ref().map(program),
            classes,
            interfaces: interface_names(),
            sets: Default::default(),
            class_work: Workspace::default(),
            work: Workspace::default(),
        }
    }

    /// Returns true if no expression is configured, so that lines have Kea's own format.
    pub(super) const fn are_default(&self) -> bool {
        self.request.is_none() && self.response.is_none()
    }

    /// Returns the line that the expressions make of the message `query` and its reply. Returns
    /// `None` if the line has Kea's own format: no expression applies, or one has no value.
    pub(super) fn line<V: PacketView>(&mut self, query: &V, reply: Option<&V>) -> Option<Vec<u8>> {
        let Self { request, response, classes, sets, class_work, work, .. } = self;
        let [set, none] = sets;
        let mut line = Vec::new();
        let mut applies = false;
        if let Some(program) = request {
            classes.evaluate_early(query, set, class_work);
            applies = program.evaluate(query, set, work, &mut line);
            if !applies {
                return None;
            }
        }
        if let (Some(program), Some(reply)) = (response, reply) {
            applies = program.evaluate(reply, none, work, &mut line);
        }
        applies.then_some(line)
    }
}

/// Returns the names of the machine's interfaces; none if the system does not list them.
fn interface_names() -> InterfaceNames {
    let interfaces = netio::interface::list().unwrap_or_default();
    InterfaceNames::new(interfaces.iter().map(|one| (one.index, one.name.as_str())))
}
