//! Rows of a lease database that cannot be read, and the replies to their DHCPv6 clients.

use crate::common::v6::{Dhcp6MessageBuilder, SMALL, Server};
use dhcp_engine::v6::DropReason;
use dhcp_lease::v6::Resource;
use dhcp_lease::{ClientId, INFINITE_LIFETIME_S, LeaseState};
use dhcp_wire::v6::MessageType;

#[test]
fn a_row_that_the_store_cannot_read_gives_no_client_something_else() {
    let mut server = Server::new(SMALL);
    let leased = server.lease(1);
    let delegated =
        server.ask(&Dhcp6MessageBuilder::new(MessageType::Request, 1).for_us().pd(1, &[])).ias[0]
            .leased[0];
    let resources = [Resource::address(leased), Resource::prefix(delegated.0, delegated.1)];
    for resource in resources {
        let mut lease = server.table.lease(resource).expect("it was leased");
        // This is the lease that the table has for such a row.
        lease.state = LeaseState::Declined;
        lease.valid_lifetime_s = INFINITE_LIFETIME_S;
        lease.client.duid = ClientId::new(&[]);
        server.table.load(lease);
    }
    let kinds = [MessageType::Renew, MessageType::Request, MessageType::Rebind];
    for (at, kind) in (1..).zip(kinds) {
        let message = || match kind {
            MessageType::Rebind => Dhcp6MessageBuilder::new(kind, 1),
            _ => Dhcp6MessageBuilder::new(kind, 1).for_us(),
        };
        server.tell(&message().na(1, &[leased]));
        server.tell(&message().pd(1, &[(delegated.0, delegated.1)]));
        assert_eq!(server.dropped(DropReason::LeaseRefused), 2 * at, "{kind:?}");
    }
    // The address is free for no client, and its own client may begin anew.
    assert_ne!(server.lease(2), leased);
    assert_ne!(server.lease(1), leased);
}
