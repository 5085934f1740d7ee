//! Commands that bring the relay agents' data of leases into the present form.

use std::fs;

use super::*;
use crate::common::TempFolder;

/// Header of a DHCPv4 lease file.
const HEADER_4: &str = "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,\
                        fqdn_rev,hostname,state,user_context,pool_id";
/// Header of a DHCPv6 lease file.
const HEADER_6: &str = "address,duid,valid_lifetime,expire,subnet_id,pref_lifetime,lease_type,\
                        iaid,prefix_len,fqdn_fwd,fqdn_rev,hostname,hwaddr,state,user_context,\
                        hwtype,hwaddr_source,pool_id";

/// Contexts of DHCPv4 leases: older form, present form, invalid, none.
const CONTEXTS_4: [&str; 4] = [
    r#"{ "ISC": { "relay-agent-info": "0x0C01AB020200FF" } }"#,
    r#"{ "ISC": { "relay-agent-info": { "sub-options": "0x010170" } } }"#,
    r#"{ "ISC": { "relay-agent-info": 7 } }"#,
    "",
];
/// Contexts of DHCPv6 leases: older form, present form, invalid, none.
const CONTEXTS_6: [&str; 4] = [
    r#"{ "ISC": { "relays": [ { "hop": 0, "link": "2001:db8::7", "peer": "fe80::9",
         "options": "0x0025000500000009FF" } ] } }"#,
    r#"{ "ISC": { "relay-info": [ { "hop": 0, "link": "2001:db8::7", "peer": "fe80::9" } ] } }"#,
    r#"{ "ISC": { "relay-info": 7 } }"#,
    "",
];

/// Returns a lease file with a lease for each context, all of which end at `end_s`.
fn lease_file(family: ScenarioFamily, end_s: u64) -> String {
    let (header, contexts) = match family {
        ScenarioFamily::V4 => (HEADER_4, CONTEXTS_4),
        ScenarioFamily::V6 => (HEADER_6, CONTEXTS_6),
    };
    let mut file = format!("{header}\n");
    for (number, context) in (1..).zip(contexts) {
        let context = context.replace('\n', "").replace(',', "&#x2c");
        file += &match family {
            ScenarioFamily::V4 => format!(
                "10.0.0.{number},02:00:00:00:00:0{number},,4000,{end_s},1,0,0,,0,{context},0\n"
            ),
            ScenarioFamily::V6 => format!(
                "2001:db8::{number},00:03:00:01:0{number},4000,{end_s},1,3000,0,1,128,0,0,,,0,\
                 {context},,,0\n"
            ),
        };
    }
    file
}

/// Returns the answers to the command of the upgrade, twice, and the leases afterwards.
fn upgraded(make: ServerMake, family: ScenarioFamily, level: &str, end_s: u64) -> [Value; 3] {
    let (number, requester, subnet) = match family {
        ScenarioFamily::V4 => (4, "10.0.0.9", "10.0.0.0/24"),
        ScenarioFamily::V6 => (6, "2001:db8::9", "2001:db8::/64"),
    };
    let identifier = if number == 6 {
        r#""server-id": { "type": "EN", "enterprise-id": 1, "identifier": "0102" },"#
    } else {
        ""
    };
    let config = format!(
        r#"{identifier} "sanity-checks": {{ "extended-info-checks": "{level}" }},
        "hooks-libraries": [ {{ "library": "libdhcp_lease_cmds.so" }},
          {{ "library": "libdhcp_lease_query.so",
             "parameters": {{ "requesters": [ "{requester}" ] }} }} ],
        "subnet{number}": [ {{ "id": 1, "subnet": "{subnet}" }} ]"#
    );
    let setup = Setup { family, config: &config, has_commands: true, persists: true, link: None };
    let folder = TempFolder::new("upgrade");
    let file = folder.path().join("leases.csv");
    fs::write(file, lease_file(family, end_s)).expect("the test's folder can be written");
    let mut daemon = Daemon::start_in(folder, make, setup, PATIENCE)
        .unwrap_or_else(|why| panic!("{make:?}: {why}"));
    let mut told = |name: &str| {
        let name = name.replace('#', &number.to_string());
        answer(&mut daemon, &json!({ "command": name }))
    };
    [told("extended-info#-upgrade"), told("extended-info#-upgrade"), told("lease#-get-all")]
}

#[test]
fn extended_information_is_upgraded_as_in_kea_3() {
    if !has_debian_13() {
        return;
    }
    let end_s = now_s() + 3000;
    for family in [ScenarioFamily::V4, ScenarioFamily::V6] {
        for level in ["none", "fix", "pedantic"] {
            let ours = upgraded(ServerMake::Godwit, family, level, end_s);
            let keas = upgraded(ServerMake::Kea3, family, level, end_s);
            assert_eq!(ours, keas, "{level}");
        }
    }
}
