//! Pools of addresses and of delegated prefixes, and the clients that may use them.

use core::net::Ipv6Addr;

use super::lifetime::has_lifetimes;
use super::{ConfigWriter, fields};
use crate::json::{OrderedJson, OrderedMap};
use crate::model::{DeclaredPool, DeclaredSubnet, PrefixRange};
use crate::settings::{Permit, PermittedClients, ScopeSettings};

impl ConfigWriter<'_> {
    /// Adds the pools of `subnet` to `map`.
    pub(super) fn put_pools(
        &mut self,
        index: usize,
        subnet: &DeclaredSubnet,
        chain: &[&ScopeSettings],
        map: &mut OrderedMap,
    ) {
        let (mut pools, mut prefix_pools) = (Vec::new(), Vec::new());
        for (number, pool) in subnet.pools.iter().enumerate() {
            let label = format!("subnet-{}-pool-{}", index + 1, number + 1);
            let content = self.pool_content(pool, chain, &label);
            for (first, last) in &pool.ranges {
                let mut range = OrderedMap::default();
                range.put("pool", format!("{first} - {last}"));
                range.append(content.clone());
                pools.push(range.into());
            }
            for range in &pool.prefixes {
                prefix_pools.extend(prefix_pool(range, &content));
            }
        }
        map.put_list("pools", pools);
        map.put_list("pd-pools", prefix_pools);
    }

    fn pool_content(
        &mut self,
        pool: &DeclaredPool,
        chain: &[&ScopeSettings],
        label: &str,
    ) -> OrderedMap {
        let mut map = OrderedMap::default();
        map.put_list("client-classes", self.guard(pool, chain, label));
        let mut settings = pool.settings.clone();
        if has_lifetimes(&settings) {
            let effect = "leases of the pool have lifetimes of their own";
            let help = "set the lifetimes of a client class whose members use the pool";
            self.findings.note(pool.at, "pool: lease time", effect, help);
            settings.parameters.retain(|name, _| !name.contains("lease-time"));
        }
        // Pools have no fields: a class has them.
        let own_fields = fields(&settings);
        let mut scope = settings.clone();
        scope.parameters.clear();
        let mut content = self.scope(&scope, chain, label, false);
        if !own_fields.is_empty() {
            let name = format!("{label}-fields");
            let mut class = OrderedMap::default();
            class.put("name", name.as_str());
            class.put("only-in-additional-list", true);
            class.append(own_fields);
            self.additional.push(class.into());
            content.prepend("evaluate-additional-classes", name.into());
        }
        map.append(content);
        map
    }

    /// Returns the names of the classes of which a client needs one to use the pool.
    fn guard(
        &mut self,
        pool: &DeclaredPool,
        chain: &[&ScopeSettings],
        label: &str,
    ) -> Vec<OrderedJson> {
        let own = &pool.settings.permits;
        let outer = chain.iter().flat_map(|scope| &scope.permits);
        let denies_unknown = |scope: &&&ScopeSettings| {
            scope.flag("boot-unknown-clients").is_some_and(|is_booted| !is_booted)
        };
        let mut all: Vec<Permit> = own.iter().chain(outer).cloned().collect();
        if chain.iter().any(|scope| denies_unknown(&scope)) {
            all.push(Permit { is_allowed: false, clients: PermittedClients::Unknown });
        }
        let allowed: Vec<&Permit> = all.iter().filter(|permit| permit.is_allowed).collect();
        let denied: Vec<&Permit> = all.iter().filter(|permit| !permit.is_allowed).collect();
        let names: Option<Vec<OrderedJson>> =
            allowed.iter().map(|permit| class_name(permit).map(OrderedJson::from)).collect();
        let is_all = allowed.iter().any(|permit| permit.clients == PermittedClients::All);
        match (&denied[..], names) {
            ([], _) if is_all || allowed.is_empty() => Vec::new(),
            ([], Some(names)) => names,
            ([Permit { clients: PermittedClients::Unknown, .. }], _) if allowed.is_empty() => {
                vec!["KNOWN".into()]
            }
            _ => {
                let name = format!("{label}-clients");
                let test = test_of(&allowed, &denied);
                let mut class = OrderedMap::default();
                class.put("name", name.as_str());
                class.put("test", test);
                self.classes.push(class.into());
                vec![name.into()]
            }
        }
    }
}

/// Returns the class of the clients that `permit` names; `None` for all clients.
fn class_name(permit: &Permit) -> Option<String> {
    match &permit.clients {
        PermittedClients::Known => Some("KNOWN".to_owned()),
        PermittedClients::Unknown => Some("UNKNOWN".to_owned()),
        PermittedClients::Members(name) => Some(name.clone()),
        PermittedClients::All => None,
    }
}

fn test_of(allowed: &[&Permit], denied: &[&Permit]) -> String {
    let member = |permit: &&Permit| {
        class_name(permit)
            .map_or_else(|| "'a' == 'a'".to_owned(), |name| format!("member('{name}')"))
    };
    let allowed: Vec<String> = allowed.iter().map(member).collect();
    let mut parts: Vec<String> =
        denied.iter().map(|permit| format!("not ({})", member(permit))).collect();
    if !allowed.is_empty() {
        parts.insert(0, format!("({})", allowed.join(" or ")));
    }
    parts.join(" and ")
}

/// Returns the pools of Kea that make up `range`: each is a prefix.
fn prefix_pool(range: &PrefixRange, content: &OrderedMap) -> Vec<OrderedJson> {
    let host_bits = 128 - u32::from(range.delegated_len);
    let mut first = range.first.to_bits();
    let size = 1_u128.checked_shl(host_bits).unwrap_or_default();
    let last = range.last.to_bits() | size.wrapping_sub(1);
    let mut list = Vec::new();
    loop {
        let mut bits = host_bits;
        // The largest prefix that begins at `first` and ends by `last`.
        while bits < 127 {
            let mask = (1_u128 << (bits + 1)) - 1;
            if first & mask != 0 || first | mask > last {
                break;
            }
            bits += 1;
        }
        let mut map = OrderedMap::default();
        map.put("prefix", Ipv6Addr::from_bits(first).to_string());
        map.put("prefix-len", 128 - bits);
        map.put("delegated-len", u32::from(range.delegated_len));
        map.append(content.clone());
        list.push(map.into());
        let next = (1_u128 << bits).checked_add(first);
        match next {
            Some(next) if next <= last => first = next,
            _ => return list,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_of_prefixes_become_aligned_pools() {
        let range = |first: &str, last: &str, delegated_len| PrefixRange {
            first: first.parse().unwrap(),
            last: last.parse().unwrap(),
            delegated_len,
        };
        let text = |range: &PrefixRange| -> Vec<String> {
            let pools = prefix_pool(range, &OrderedMap::default());
            pools.iter().map(OrderedJson::text).collect()
        };
        assert_eq!(text(&range("2001:db8::", "2001:db8:0:ff00::", 56)).len(), 1);
        assert_eq!(text(&range("2001:db8:0:100::", "2001:db8:0:300::", 56)).len(), 2);
        let whole = text(&range("2001:db8:0:100::", "2001:db8:0:100::", 56));
        assert!(whole[0].contains("\"prefix-len\": 56"), "{whole:?}");
    }
}
