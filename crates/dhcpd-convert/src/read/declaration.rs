//! Reads declarations: groups, networks, subnets, pools and classes.

use core::net::IpAddr;

use super::{ModelReader, ScopeKind, TEST_HELP};
use crate::expression::ExpressionReader;
use crate::lexer::{DhcpdToken, DhcpdTokenKind};
use crate::model::{DeclaredClass, DeclaredPool, DeclaredSubclass, DeclaredSubnet, SharedNetwork};
use crate::options::value;
use crate::settings::ScopeSettings;
use crate::statement::DhcpdStatement;

impl ModelReader {
    /// Reads the declarations among `statements`, which are in the scope `kind`. `outer` are the
    /// settings of the groups around them.
    pub(super) fn declarations(
        &mut self,
        statements: &[DhcpdStatement],
        kind: ScopeKind,
        outer: &ScopeSettings,
    ) {
        for statement in statements.iter().filter(|statement| statement.body.is_some()) {
            match statement.keyword().as_str() {
                "group" => {
                    let mut own = self.scope(statement.block(), kind);
                    own.inherit(outer);
                    self.declarations(statement.block(), kind, &own);
                }
                "shared-network" => self.network(statement, outer),
                "subnet" | "subnet6" => self.subnet(statement, kind, outer),
                "pool" | "pool6" => self.declared_pool(statement, kind, outer),
                "host" => self.host(statement, outer),
                "class" => self.class(statement, outer),
                "subclass" => self.subclass(statement),
                _ => {}
            }
        }
        let without_block = |statement: &&DhcpdStatement| statement.body.is_none();
        for statement in statements.iter().filter(without_block) {
            match statement.keyword().as_str() {
                "subclass" => self.subclass(statement),
                "server-duid" => self.server_duid(statement),
                _ => {}
            }
        }
    }

    fn network(&mut self, statement: &DhcpdStatement, outer: &ScopeSettings) {
        let Some(name) = statement.words.get(1) else {
            return self.error(statement.at, "the shared network needs a name");
        };
        let name = name_of(name);
        let index = self.model.networks.len();
        let kind = ScopeKind::Network(index);
        let mut settings = self.scope(statement.block(), kind);
        settings.inherit(outer);
        self.model.networks.push(SharedNetwork { name, settings });
        let inner = ScopeSettings::default();
        // Pools of the network itself belong to its subnets, which come first.
        let is_pool = |inner: &DhcpdStatement| inner.keyword().starts_with("pool");
        let (pools, others): (Vec<_>, Vec<_>) =
            statement.block().iter().cloned().partition(is_pool);
        self.declarations(&others, kind, &inner);
        self.declarations(&pools, kind, &inner);
    }

    fn subnet(&mut self, statement: &DhcpdStatement, kind: ScopeKind, outer: &ScopeSettings) {
        let Some((address, prefix_len)) = self.subnet_prefix(statement) else { return };
        let network = match kind {
            ScopeKind::Network(index) => Some(index),
            _ => None,
        };
        let index = self.model.subnets.len();
        let kind = ScopeKind::Subnet(index);
        let mut settings = self.scope(statement.block(), kind);
        settings.inherit(outer);
        let own = self.pool(statement.block(), statement.at, ScopeSettings::default());
        let pools =
            if own.ranges.is_empty() && own.prefixes.is_empty() { Vec::new() } else { vec![own] };
        self.model.subnets.push(DeclaredSubnet { network, address, prefix_len, settings, pools });
        self.declarations(statement.block(), kind, &ScopeSettings::default());
    }

    fn subnet_prefix(&mut self, statement: &DhcpdStatement) -> Option<(IpAddr, u8)> {
        let words: Vec<&str> = statement.words.iter().filter_map(DhcpdToken::word).collect();
        let prefix = match words[..] {
            [first, address, keyword, mask]
                if first.eq_ignore_ascii_case("subnet")
                    && keyword.eq_ignore_ascii_case("netmask") =>
            {
                let address = value::ipv4(address).ok();
                let mask = value::ipv4(mask).ok().map(core::net::Ipv4Addr::to_bits);
                address.zip(mask).map(|(address, mask)| {
                    (IpAddr::V4(address), u8::try_from(mask.leading_ones()).unwrap_or_default())
                })
            }
            [_, address, len] => {
                address.parse().ok().map(IpAddr::V6).zip(len.parse().ok().filter(|len| *len <= 128))
            }
            _ => None,
        };
        if prefix.is_none() {
            let message = "the subnet needs an address and a mask or prefix length";
            self.error(statement.at, message);
        }
        prefix
    }

    /// Reads a pool, which is in a subnet, or in a network and so in that subnet of it that has its
    /// addresses.
    fn declared_pool(
        &mut self,
        statement: &DhcpdStatement,
        kind: ScopeKind,
        outer: &ScopeSettings,
    ) {
        let mut settings = self.scope(statement.block(), ScopeKind::Pool);
        settings.inherit(outer);
        let pool = self.pool(statement.block(), statement.at, settings);
        if let ScopeKind::Subnet(index) = kind {
            if let Some(subnet) = self.model.subnets.get_mut(index) {
                subnet.pools.push(pool);
            }
            return;
        }
        for subnet in &mut self.model.subnets {
            if kind != ScopeKind::Network(subnet.network.unwrap_or(usize::MAX)) {
                continue;
            }
            let ranges: Vec<_> =
                pool.ranges.iter().copied().filter(|range| subnet.contains(range.0)).collect();
            if !ranges.is_empty() {
                if !subnet.settings.options.is_empty() {
                    let effect = "dhcpd sends its clients no options of the subnet, Kea does";
                    let help = "move the options of the subnet to pools of its own";
                    self.findings.note(pool.at, "pool of a shared network", effect, help);
                }
                subnet.pools.push(DeclaredPool { ranges, ..pool.clone() });
            }
        }
    }

    pub(super) fn range(&mut self, statement: &DhcpdStatement, pool: &mut DeclaredPool) {
        let mut words: Vec<&DhcpdToken> = statement.after(1).iter().collect();
        if words.first().is_some_and(|word| word.is_word("dynamic-bootp")) {
            let effect = "BOOTP clients get addresses of the range";
            let help = "load the hook library `bootp`";
            self.findings.note(statement.at, "range dynamic-bootp", effect, help);
            words.remove(0);
        }
        let addresses: Option<Vec<IpAddr>> =
            words.iter().map(|word| value::ipv4(word.word()?).ok().map(IpAddr::V4)).collect();
        match addresses.as_deref() {
            Some([only]) => pool.ranges.push((*only, *only)),
            Some([first, last]) => pool.ranges.push((*first.min(last), *first.max(last))),
            _ => self.error(statement.at, "`range` needs one or two addresses"),
        }
    }

    fn class(&mut self, statement: &DhcpdStatement, outer: &ScopeSettings) {
        let Some(name) = statement.words.get(1) else {
            return self.error(statement.at, "the class needs a name");
        };
        let mut settings = self.scope_of_class(statement.block());
        settings.inherit(outer);
        let mut class = DeclaredClass {
            name: name_of(name),
            test: None,
            matched: None,
            template: None,
            subclasses: Vec::new(),
            settings,
        };
        for inner in statement.block() {
            self.class_statement(inner, &mut class);
        }
        self.model.classes.push(class);
    }

    /// Returns the settings of a class; `lease limit` has no counterpart that the server has.
    fn scope_of_class(&mut self, statements: &[DhcpdStatement]) -> ScopeSettings {
        let is_limit = |statement: &&DhcpdStatement| statement.begins(&["lease", "limit"]);
        for limit in statements.iter().filter(is_limit) {
            let effect = "the class's members get a limited number of leases";
            let help = "Kea's hook library `limits` has `address-limit`; godwit has none";
            self.findings.note(limit.at, "lease limit", effect, help);
        }
        self.scope(statements, ScopeKind::Class)
    }

    fn class_statement(&mut self, statement: &DhcpdStatement, class: &mut DeclaredClass) {
        let is_condition = statement.begins(&["match", "if"]);
        let is_spawn = statement.begins(&["spawn", "with"]);
        if !is_condition && !is_spawn && !statement.begins(&["match"]) {
            return;
        }
        let words = statement.after(if is_condition || is_spawn { 2 } else { 1 });
        let mut reader = ExpressionReader::new(words, &self.registry, statement.at);
        let fault = if is_condition {
            let condition = reader.whole_condition();
            if condition.as_ref().is_ok_and(|test| test.contains("member('KNOWN')")) {
                let effect = "dhcpd classifies before it looks for hosts, so `known` is false";
                let help = "use `allow known-clients` of pools, or an `if` of a scope";
                self.findings.note(statement.at, "match if known", effect, help);
                return;
            }
            condition.map(|test| class.test = Some(test)).err()
        } else if is_spawn {
            reader.whole_data().map(|data| class.template = Some(data.kea())).err()
        } else {
            reader.whole_data().map(|data| class.matched = Some(data)).err()
        };
        if let Some(fault) = fault {
            let name = if is_spawn { "spawn with" } else { "match" };
            self.findings.note(fault.at, name, fault.message, TEST_HELP);
        }
    }

    fn subclass(&mut self, statement: &DhcpdStatement) {
        let Some(name) = statement.words.get(1).map(name_of) else {
            return self.error(statement.at, "the subclass needs the name of a class");
        };
        let settings = self.scope_of_class(statement.block());
        let Some(class) = self.model.classes.iter_mut().find(|class| class.name == name) else {
            let message = format!("there is no class `{name}` before this subclass");
            return self.error(statement.at, message);
        };
        let words = statement.after(2);
        let value = ExpressionReader::new(words, &self.registry, statement.at).whole_data();
        match (&class.matched, value) {
            (Some(matched), Ok(value)) => {
                let test = crate::expression::equality(matched, &value);
                class.subclasses.push(DeclaredSubclass { at: statement.at, test, settings });
            }
            (None, _) => {
                let effect = "its class has no `match` that Kea can evaluate";
                self.findings.note(statement.at, "subclass", effect, TEST_HELP);
            }
            (_, Err(fault)) => {
                self.findings.note(fault.at, "subclass", fault.message, TEST_HELP);
            }
        }
    }
}

/// Returns the name in `token`, which may be in quotes.
pub(super) fn name_of(token: &DhcpdToken) -> String {
    match &token.kind {
        DhcpdTokenKind::Text(octets) => String::from_utf8_lossy(octets).into_owned(),
        _ => token.shown(),
    }
}
