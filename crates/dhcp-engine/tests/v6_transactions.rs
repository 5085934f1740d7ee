//! Transactions of RFC 9915 §18.3 and Kea's choices (reference §5.15), message by message.

use crate::common::v6::{
    Dhcp6MessageBuilder, ParsedDhcp6Reply, SERVER_DUID, SMALL, Server, Sink, address, duid, prefix,
};
use dhcp_engine::v6::DropReason;
use dhcp_wire::v6::{IaKind, MessageType, StatusCode, option};

fn solicit(n: u16) -> Dhcp6MessageBuilder {
    Dhcp6MessageBuilder::new(MessageType::Solicit, n)
}

/// Returns a message to our server.
fn message(kind: MessageType, n: u16) -> Dhcp6MessageBuilder {
    Dhcp6MessageBuilder::new(kind, n).for_us()
}

fn request(n: u16) -> Dhcp6MessageBuilder {
    message(MessageType::Request, n)
}

#[test]
fn an_advertise_carries_terms_and_options() {
    let mut server = Server::new(SMALL);
    let requested_codes = [option::DNS_SERVERS, option::PD_EXCLUDE, 999];
    let solicitation = solicit(1).wants(&requested_codes).na(7, &[]).pd(8, &[]);
    let advertise = server.ask(&solicitation);
    assert_eq!((advertise.kind, advertise.transaction_id), (MessageType::Advertise, 0x1001));
    assert_eq!(advertise.option(option::CLIENTID), Some(&*duid(1)));
    assert_eq!(advertise.option(option::SERVERID), Some(&SERVER_DUID[..]));
    assert_eq!(advertise.status, None);
    let [na, pd] = &advertise.ias[..] else { panic!("{advertise:?}") };
    assert_eq!((na.kind, na.iaid, na.timers_s, na.status), (IaKind::Na, 7, (250, 400), None));
    assert_eq!(na.leased, [(address(0x10), 128, 600, 1000)]);
    assert_eq!((pd.kind, pd.iaid, pd.timers_s, pd.status), (IaKind::Pd, 8, (250, 400), None));
    assert_eq!(pd.leased, [(prefix(0), 56, 600, 1000)]);
    // RFC 6603: this is the excluded part of this very prefix.
    assert_eq!(pd.excluded, Some(("2001:db8:100:ff::".parse().unwrap(), 64)));
    // The reply has the pool's own resolver; options that are always sent come without a request.
    let resolver: std::net::Ipv6Addr = "2001:db8::54".parse().unwrap();
    assert_eq!(advertise.option(option::DNS_SERVERS), Some(&resolver.octets()[..]));
    assert!(advertise.option(option::SNTP_SERVERS).is_some());
    let unasked = server.ask(&solicit(1).pd(8, &[]));
    assert!(unasked.option(option::DNS_SERVERS).is_none());
    assert_eq!(unasked.ias[0].excluded, None);
}

#[test]
fn an_exchange_leases_what_was_offered_and_a_client_keeps_it() {
    let mut server = Server::new(SMALL);
    assert_eq!(server.lease(1), address(0x10));
    assert_eq!(server.lease(2), address(0x11));
    assert_eq!(server.lease(1), address(0x10));
    let rows = server.log.take_rows();
    assert_eq!(rows[0].client.duid.octets(), duid(1));
    assert_eq!(
        (rows[0].client.iaid, rows[0].subnet_id, rows[0].extra.preferred_lifetime_s),
        (1, 1, 600)
    );
    assert_eq!(rows[0].extra.hardware.octets(), [2, 0, 0, 0, 0, 1]);
    assert_eq!(rows.len(), 2, "the third exchange repeats a young lease");
}

#[test]
fn a_wish_is_granted_when_it_is_free_and_in_a_pool() {
    let mut server = Server::new(SMALL);
    let solicit_address = |n, last| solicit(n).na(1, &[address(last)]);
    assert_eq!(server.ask(&solicit_address(1, 0x12)).leased(0), address(0x12));
    assert_eq!(server.ask(&solicit_address(2, 0x12)).leased(0), address(0x10));
    assert_eq!(server.ask(&solicit_address(3, 0x99)).leased(0), address(0x11));
    let solicit_prefix = solicit(4).pd(1, &[(prefix(2), 56)]);
    assert_eq!(server.ask(&solicit_prefix).leased(0), prefix(2));
    let length_only = solicit(5).pd(1, &[("::".parse().unwrap(), 60)]);
    assert_eq!(server.ask(&length_only).ias[0].leased[0].1, 56);
    // The offer of another address does not prevent a REQUEST from naming a free one.
    let other = server.ask(&request(1).na(1, &[address(0x13)]));
    assert_eq!(other.leased(0), address(0x13));
}

#[test]
fn lifetimes_are_kept_within_the_limits() {
    let mut server = Server::new(SMALL);
    for (requested, expected) in [
        ((0, 0), (600, 1000)),
        ((1, 1), (300, 500)),
        ((400, 700), (400, 700)),
        ((1000, 600), (375, 600)),
        ((u32::MAX, u32::MAX), (1200, 2000)),
    ] {
        let solicitation =
            solicit(1).ia(IaKind::Na, 1, &[(address(0x10), 128, requested.0, requested.1)]);
        let (.., preferred_s, valid_s) = server.ask(&solicitation).ias[0].leased[0];
        assert_eq!((preferred_s, valid_s), expected, "{requested:?}");
    }
}

#[test]
fn leases_of_prefixes_are_short_while_their_pool_is_nearly_full() {
    let keys = r#""rapid-commit": true, "allocator": "iterative", "pd-allocator": "flq",
        "adaptive-lease-time-threshold": 0.5"#;
    let mut server = Server::new(&SMALL.replace(r#""rapid-commit": true"#, keys));
    let lifetimes = |server: &mut Server, n| {
        let reply = server.ask(&solicit(n).rapidly().na(1, &[]).pd(1, &[]));
        [0, 1].map(|at| (reply.ias[at].leased[0].2, reply.ias[at].leased[0].3))
    };
    assert_eq!(lifetimes(&mut server, 1), [(600, 1000); 2]);
    // Kea does not consider how full address pools are.
    assert_eq!(lifetimes(&mut server, 2), [(600, 1000), (300, 500)]);
    server.pass_s(280);
    let remaining = lifetimes(&mut server, 1);
    assert_eq!(remaining, [(600, 1000), (320, 720)], "what is left is not taken away");
}

#[test]
fn renewals_of_short_leases_do_not_shorten_the_preferred_lifetime_each_time() {
    // Leases are short from the first on. The part of the valid lifetime results each time.
    for (keys, requested, valid_s) in [
        (r#""valid-lifetime": 7200"#, (0, 0), 7200),
        (r#""valid-lifetime": 7200"#, (1000, 2000), 7200),
        (r#""valid-lifetime": 7200, "min-valid-lifetime": 800"#, (0, 0), 800),
        (
            r#""valid-lifetime": 7200, "preferred-lifetime": 4000, "min-preferred-lifetime": 0"#,
            (0, 0),
            7200,
        ),
        (
            r#""valid-lifetime": 7200, "min-valid-lifetime": 800, "preferred-lifetime": 4000"#,
            (0, 0),
            800,
        ),
    ] {
        let head = SMALL.split_once("\"preferred-lifetime\"").expect("it has one").0;
        let tail = SMALL.split_once("\"decline-probation-period\"").expect("it has one").1;
        let queue = r#""pd-allocator": "flq", "adaptive-lease-time-threshold": 0.1"#;
        let text = format!("{head}{keys}, {queue}, \"decline-probation-period\"{tail}");
        let mut server = Server::new(&text);
        let first = server.ask(&request(1).pd(1, &[])).ias[0].leased[0];
        let part_s = valid_s * 5 / 8;
        assert_eq!((first.2, first.3), (part_s, valid_s), "{keys}");
        for renewal in 1..=5 {
            server.pass_s(u64::from(part_s / 2));
            let hints = [(first.0, first.1, requested.0, requested.1)];
            let renew = message(MessageType::Renew, 1).ia(IaKind::Pd, 1, &hints);
            let (.., preferred_s, valid) = server.ask(&renew).ias[0].leased[0];
            assert_eq!((preferred_s, valid), (part_s, valid_s), "{keys}, renewal {renewal}");
        }
    }
}

#[test]
fn what_is_left_of_a_preferred_lifetime_is_kept_when_leases_get_short() {
    let keys = r#""pd-allocator": "flq", "adaptive-lease-time-threshold": 0.5"#;
    let long = r#""preferred-lifetime": 900, "min-preferred-lifetime": 900"#;
    let usual = r#""preferred-lifetime": 600, "min-preferred-lifetime": 300"#;
    let text = SMALL.replace(usual, long);
    let mut server = Server::new(&text.replace(r#""rapid-commit": true"#, keys));
    let lifetimes = |server: &mut Server, build: Dhcp6MessageBuilder| {
        let (.., preferred_s, valid_s) = server.ask(&build).ias[0].leased[0];
        (preferred_s, valid_s)
    };
    assert_eq!(lifetimes(&mut server, request(1).pd(1, &[])), (900, 1000));
    assert_eq!(lifetimes(&mut server, request(2).pd(1, &[])), (312, 500), "900 s are too many");
    let renew = message(MessageType::Renew, 1).pd(1, &[(prefix(0), 56)]);
    server.pass_s(260);
    assert_eq!(lifetimes(&mut server, renew), (640, 740));
}

#[test]
fn timers_are_explicit_or_calculated_or_left_to_the_client() {
    let timers = |text: &str| Server::new(text).ask(&solicit(1).na(1, &[])).ias[0].timers_s;
    let explicit = "\"renew-timer\": 250, \"rebind-timer\": 400,";
    assert_eq!(timers(SMALL), (250, 400));
    assert_eq!(timers(&SMALL.replace(explicit, "")), (300, 480));
    assert_eq!(timers(&SMALL.replace(explicit, "\"calculate-tee-times\": false,")), (0, 0));
    let renew_only = "\"calculate-tee-times\": false, \"renew-timer\": 99,";
    assert_eq!(timers(&SMALL.replace(explicit, renew_only)), (0, 0));
    let equal = "\"renew-timer\": 99, \"rebind-timer\": 99,";
    assert_eq!(timers(&SMALL.replace(explicit, equal)), (0, 99));
    let odd = "\"t1-percent\": 0.3325, \"t2-percent\": 0.6675,";
    assert_eq!(timers(&SMALL.replace(explicit, odd)), (200, 401));
}

#[test]
fn an_offered_address_is_held_and_then_lapses() {
    let mut server = Server::new(SMALL);
    assert_eq!(server.ask(&solicit(1).na(1, &[])).leased(0), address(0x10));
    let other_reply = server.ask(&request(2).na(1, &[address(0x10)]));
    assert_eq!(other_reply.leased(0), address(0x11));
    server.pass_s(11);
    let lapsed = server.ask(&request(3).na(1, &[address(0x10)]));
    assert_eq!(lapsed.leased(0), address(0x10));
}

#[test]
fn an_exhausted_pool_is_told_in_the_association() {
    let mut server = Server::new(SMALL);
    for n in 1..=4 {
        server.lease(n);
    }
    for kind in [MessageType::Advertise, MessageType::Reply] {
        let build = match kind {
            MessageType::Advertise => solicit(5),
            _ => request(5),
        };
        let answer = server.ask(&build.na(1, &[]).pd(2, &[]));
        assert_eq!(answer.kind, kind);
        assert_eq!(answer.statuses(), [Some(StatusCode::NoAddrsAvail), None]);
        assert_eq!(answer.leased(1), prefix(0));
    }
    assert_eq!(server.counters[0].refused_with(usize::from(StatusCode::NoAddrsAvail.code())), 2);
}

#[test]
fn an_exhausted_pool_breaks_the_oldest_hold_and_leaves_leases_alone() {
    let mut server = Server::new(SMALL);
    for n in 1..=3 {
        server.lease(n);
    }
    assert_eq!(server.ask(&solicit(4).na(1, &[])).leased(0), address(0x13));
    assert_eq!(server.ask(&solicit(5).na(1, &[])).leased(0), address(0x13));
    assert_eq!(server.ask(&request(5).na(1, &[address(0x13)])).leased(0), address(0x13));
    let late = server.ask(&request(4).na(1, &[address(0x13)]));
    assert_eq!(late.statuses(), [Some(StatusCode::NoAddrsAvail)]);
}

#[test]
fn rapid_commit_leases_in_two_messages_where_it_is_allowed() {
    let mut server = Server::new(SMALL);
    let reply = server.ask(&solicit(1).rapidly().na(1, &[]).pd(1, &[]));
    assert_eq!(reply.kind, MessageType::Reply);
    assert_eq!(reply.option(option::RAPID_COMMIT), Some(&[][..]));
    assert_eq!(server.log.take_rows().len(), 2);
    let refusing = SMALL.replace("\"rapid-commit\": true", "\"rapid-commit\": false");
    let mut server = Server::new(&refusing);
    let advertise = server.ask(&solicit(1).rapidly().na(1, &[]));
    assert_eq!(advertise.kind, MessageType::Advertise);
    assert_eq!(advertise.option(option::RAPID_COMMIT), None);
    assert!(server.log.take_rows().is_empty());
}

#[test]
fn a_request_for_an_address_of_another_link_is_told_so() {
    let mut server = Server::new(SMALL);
    let foreign = "2001:db8:2::10".parse().unwrap();
    let reply = server.ask(&request(1).na(1, &[foreign]).na(2, &[]));
    assert_eq!(reply.statuses(), [Some(StatusCode::NotOnLink), None]);
    assert!(reply.ias[0].leased.is_empty());
    // In a SOLICIT the address is only a hint.
    assert_eq!(server.ask(&solicit(1).na(1, &[foreign])).statuses(), [None]);
}

#[test]
fn associations_of_one_message_get_different_addresses() {
    let mut server = Server::new(SMALL);
    let same = [address(0x12)];
    let build = solicit(1).rapidly().na(1, &same).na(2, &same).na(3, &[]).na(1, &[]);
    let reply = server.ask(&build);
    let mut addresses: Vec<_> = reply.ias.iter().map(|ia| ia.leased[0].0).collect();
    assert_eq!(addresses.len(), 3, "an association that is named twice is answered once");
    assert_eq!(addresses[0], address(0x12));
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 3);
}

#[test]
fn too_many_associations_are_refused_by_kind() {
    let mut server = Server::new(SMALL);
    let mut build = solicit(1);
    for iaid in 0..6 {
        build = build.na(iaid, &[]).pd(iaid, &[]);
    }
    let answer = server.ask(&build.ia(IaKind::Ta, 9, &[]));
    let count = |code| answer.statuses().iter().filter(|status| **status == code).count();
    assert_eq!(answer.ias.len(), 13);
    // Four of each kind fit, and the pools have four of each kind.
    assert_eq!(count(None), 8);
    assert_eq!(count(Some(StatusCode::NoAddrsAvail)), 3);
    assert_eq!(count(Some(StatusCode::NoPrefixAvail)), 2);
    assert_eq!(answer.ias[12].kind, IaKind::Ta);
}

#[test]
fn a_renewal_extends_once_it_is_worth_it() {
    let mut server = Server::new(SMALL);
    server.lease(1);
    let renew = message(MessageType::Renew, 1).na(1, &[address(0x10)]);
    server.pass_s(200);
    // 200 s are within a quarter of the lifetime: the lease is repeated, not renewed.
    let early = server.ask(&renew);
    assert_eq!(early.ias[0].leased, [(address(0x10), 128, 400, 800)]);
    server.pass_s(200);
    let due = server.ask(&renew);
    assert_eq!(due.ias[0].leased, [(address(0x10), 128, 600, 1000)]);
    assert_eq!(due.ias[0].timers_s, (250, 400));
    server.pass_s(1001);
    let rebind = Dhcp6MessageBuilder::new(MessageType::Rebind, 1).na(1, &[address(0x10)]);
    assert_eq!(server.ask(&rebind).leased(0), address(0x10));
}

#[test]
fn a_renewal_of_nothing_known_is_served_and_what_is_wrong_comes_back_with_no_time() {
    let mut server = Server::new(SMALL);
    for kind in [MessageType::Renew, MessageType::Rebind] {
        let build = |n| match kind {
            MessageType::Renew => message(kind, n),
            _ => Dhcp6MessageBuilder::new(kind, n),
        };
        let mut server = Server::new(SMALL);
        let renewed = server.ask(&build(1).na(1, &[address(0x12)]));
        assert_eq!(renewed.ias[0].leased, [(address(0x12), 128, 600, 1000)]);
        let other_reply = server.ask(&build(2).na(1, &[address(0x12)]));
        let expected = [(address(0x10), 128, 600, 1000), (address(0x12), 128, 0, 0)];
        assert_eq!(other_reply.ias[0].leased, expected);
        let foreign = [(prefix(9), 56), (prefix(1), 56)];
        let prefixes = server.ask(&build(3).pd(1, &foreign));
        let expected = [(prefix(1), 56, 600, 1000), (prefix(9), 56, 0, 0)];
        assert_eq!(prefixes.ias[0].leased, expected);
    }
    for n in 1..=4 {
        server.lease(n);
    }
    let full = server.ask(&message(MessageType::Renew, 5).na(1, &[address(0x10)]));
    assert_eq!(full.ias[0].leased, [(address(0x10), 128, 0, 0)]);
    assert_eq!(full.statuses(), [Some(StatusCode::NoAddrsAvail)]);
}

#[test]
fn a_renewal_under_another_configuration_moves_to_what_is_right() {
    let mut server = Server::new(SMALL);
    server.lease(1);
    let moved = SMALL.replace("2001:db8:1::10 - 2001:db8:1::13", "2001:db8:1::20 - 2001:db8:1::23");
    server.reload(&moved);
    let renewed = server.ask(&message(MessageType::Renew, 1).na(1, &[address(0x10)]));
    let expected = [(address(0x20), 128, 600, 1000), (address(0x10), 128, 0, 0)];
    assert_eq!(renewed.ias[0].leased, expected);
}

#[test]
fn a_release_frees_the_address_for_others_but_is_remembered() {
    let mut server = Server::new(SMALL);
    server.lease(1);
    let release = |n| message(MessageType::Release, n).na(1, &[address(0x10)]).pd(2, &[]);
    let strangers = server.ask(&release(2));
    assert_eq!(strangers.status, Some(StatusCode::Success));
    assert_eq!(strangers.statuses(), [Some(StatusCode::NoBinding); 2]);
    let released = server.ask(&release(1));
    assert_eq!(released.status, Some(StatusCode::Success));
    assert_eq!(
        released.statuses(),
        [Some(StatusCode::Success), Some(StatusCode::NoBinding)],
        "{released:?}"
    );
    assert!(released.ias.iter().all(|ia| ia.leased.is_empty()));
    assert_eq!(server.ask(&release(1)).statuses(), [Some(StatusCode::NoBinding); 2]);
    server.pass_s(1);
    assert_eq!(server.lease(1), address(0x10));
    server.ask(&release(1));
    server.pass_s(1);
    assert_eq!(server.ask(&request(2).na(1, &[address(0x10)])).leased(0), address(0x10));
}

#[test]
fn a_declined_address_rests_until_its_probation_ends() {
    let mut server = Server::new(SMALL);
    server.lease(1);
    let decline = |n| message(MessageType::Decline, n).na(1, &[address(0x10)]);
    assert_eq!(server.ask(&decline(2)).statuses(), [Some(StatusCode::NoBinding)]);
    let declined = server.ask(&decline(1));
    assert_eq!(declined.status, Some(StatusCode::Success));
    assert_eq!(declined.statuses(), [Some(StatusCode::Success)]);
    for n in 1..=3 {
        assert_ne!(server.lease(n), address(0x10));
    }
    let solicitation = solicit(4).na(1, &[address(0x10)]);
    assert_eq!(server.ask(&solicitation).statuses(), [Some(StatusCode::NoAddrsAvail)]);
    server.pass_s(101);
    assert_eq!(server.ask(&solicitation).leased(0), address(0x10));
}

#[test]
fn several_associations_are_given_back_at_once() {
    let mut server = Server::new(SMALL);
    let both = |kind| message(kind, 1).na(1, &[address(0x10)]).pd(1, &[(prefix(0), 56)]);
    server.ask(&both(MessageType::Request));
    assert_eq!(server.log.take_rows().len(), 2);
    let released = server.ask(&both(MessageType::Release));
    assert_eq!(released.statuses(), [Some(StatusCode::Success); 2]);
    assert_eq!(server.log.take_rows().len(), 2);
}

/// Kea 3 has no default of its own for the preferred lifetime.
#[test]
fn a_preferred_lifetime_that_is_set_nowhere_follows_from_the_valid_one() {
    let text = |valid: &str| {
        format!(
            r#"{{ "Dhcp6": {{ "interfaces-config": {{ "interfaces": [ "*" ] }}, {valid}
                "subnet6": [ {{ "id": 1, "subnet": "2001:db8:1::/64",
                    "pools": [ {{ "pool": "2001:db8:1::10-2001:db8:1::13" }} ] }} ] }} }}"#
        )
    };
    let bounds = r#""valid-lifetime": 800, "min-valid-lifetime": 80, "max-valid-lifetime": 8000,"#;
    let cases = [
        ("", 0, (7200, 4500), (2250, 3600)),
        (r#""valid-lifetime": 800,"#, 0, (800, 500), (250, 400)),
        (bounds, 1600, (1600, 1000), (500, 800)),
        (bounds, 80, (80, 50), (25, 40)),
    ];
    for (valid, requested_s, (valid_s, preferred_s), timers_s) in cases {
        let mut server = Server::new(&text(valid));
        let requested = [(address(0x10), 128, 0, requested_s)];
        let solicit =
            Dhcp6MessageBuilder::new(MessageType::Solicit, 1).ia(IaKind::Na, 1, &requested);
        let advertise = server.ask(&solicit);
        assert_eq!(advertise.ias[0].leased, [(address(0x10), 128, preferred_s, valid_s)]);
        assert_eq!(advertise.ias[0].timers_s, timers_s, "{valid}");
    }
}

#[test]
fn a_confirmation_looks_at_the_link_only() {
    let mut server = Server::new(SMALL);
    let confirm =
        |addresses: &[_]| Dhcp6MessageBuilder::new(MessageType::Confirm, 1).na(1, addresses);
    let fits = server.ask(&confirm(&[address(0x77)]));
    assert_eq!((fits.kind, fits.status), (MessageType::Reply, Some(StatusCode::Success)));
    assert!(fits.ias.is_empty());
    let foreign = "2001:db8:2::10".parse().unwrap();
    let mixed = server.ask(&confirm(&[address(0x10), foreign]));
    assert_eq!(mixed.status, Some(StatusCode::NotOnLink));
    server.tell(&confirm(&[]));
    server.tell(&Dhcp6MessageBuilder::new(MessageType::Confirm, 1).pd(1, &[(prefix(0), 56)]));
    assert_eq!(server.dropped(DropReason::NothingToConfirm), 2);
}

#[test]
fn parameters_are_given_to_anyone() {
    let mut server = Server::new(SMALL);
    let wants = [option::DNS_SERVERS];
    for build in [
        Dhcp6MessageBuilder::anonymous(MessageType::InformationRequest, 1),
        Dhcp6MessageBuilder::new(MessageType::InformationRequest, 1),
        message(MessageType::InformationRequest, 1),
        // RFC 9915 §16.12 requires servers to discard it; Kea does not.
        Dhcp6MessageBuilder::new(MessageType::InformationRequest, 1)
            .na(1, &[address(0x10)])
            .pd(2, &[]),
    ] {
        let reply = server.ask(&build.wants(&wants));
        assert_eq!(reply.kind, MessageType::Reply);
        assert!(reply.ias.is_empty());
        let resolver: std::net::Ipv6Addr = "2001:db8::53".parse().unwrap();
        assert_eq!(reply.option(option::DNS_SERVERS), Some(&resolver.octets()[..]));
        assert_eq!(reply.status, None);
    }
    let anonymous = Dhcp6MessageBuilder::anonymous(MessageType::InformationRequest, 1);
    assert_eq!(server.ask(&anonymous).option(option::CLIENTID), None);
    assert!(server.shards[0].is_idle());
}

#[test]
fn what_must_be_discarded_is_discarded_and_counted() {
    use MessageType as M;
    let mut server = Server::new(SMALL);
    let stranger = |kind| {
        Dhcp6MessageBuilder::new(kind, 1).option(option::SERVERID, &[0, 3, 0, 1, 9]).na(1, &[])
    };
    for kind in [M::Request, M::Renew, M::Release, M::Decline] {
        server.tell(&stranger(kind));
        server.tell(&Dhcp6MessageBuilder::new(kind, 1).na(1, &[]));
        server.tell(&Dhcp6MessageBuilder::anonymous(kind, 1).for_us().na(1, &[]));
    }
    for kind in [M::Solicit, M::Confirm, M::Rebind] {
        server.tell(&message(kind, 1).na(1, &[address(0x10)]));
        server.tell(&Dhcp6MessageBuilder::anonymous(kind, 1).na(1, &[]));
    }
    server.tell(&stranger(M::InformationRequest));
    server.tell(&solicit(1).option(option::CLIENTID, &duid(2)));
    for kind in [M::Advertise, M::Reply, M::Reconfigure, M::LeaseQuery] {
        server.tell(&message(kind, 1));
    }
    for (reason, count) in [
        (DropReason::ClientChoseOtherServer, 5),
        (DropReason::NoServerId, 4),
        (DropReason::NoIdentity, 7),
        (DropReason::UnexpectedServerId, 3),
        (DropReason::RepeatedIdentity, 1),
        (DropReason::UnexpectedMessageType, 4),
    ] {
        assert_eq!(server.dropped(reason), count, "{}", reason.name());
    }
    assert!(server.send_to(0, b"not DHCP").is_empty());
    assert_eq!(server.counters[0].malformed_total(), 1);
}

#[test]
fn no_acknowledgment_leaves_before_its_rows_are_safe() {
    let mut server = Server::new(SMALL);
    server.auto_settle = false;
    let octets = request(1).na(1, &[]).pd(1, &[]).octets();
    assert!(server.send_to(0, &octets).is_empty());
    // The client sends again meanwhile: the server holds the message, then the next is a duplicate.
    assert!(server.send_to(0, &octets).is_empty());
    assert!(server.send_to(0, &octets).is_empty());
    assert_eq!(server.dropped(DropReason::DuplicateInFlight), 1);
    let mut sink = Sink::default();
    server.settle(&mut sink);
    server.settle(&mut sink);
    // The replies are the REPLY, then the held message's repeated one.
    assert_eq!(sink.0.len(), 2);
    for (_, octets) in &sink.0 {
        assert_eq!(ParsedDhcp6Reply::parse(octets).leased(1), prefix(0));
    }
    assert!(server.shards[0].is_idle());
}

#[test]
fn a_release_is_acknowledged_and_free_once_its_row_is_safe() {
    let mut server = Server::new(SMALL);
    server.lease(1);
    server.auto_settle = false;
    let release = message(MessageType::Release, 1).na(1, &[address(0x10)]);
    server.tell(&release);
    let other = server.send_to(0, &request(2).na(1, &[address(0x10)]).octets());
    assert!(other.is_empty(), "what it read waits for its row");
    let mut sink = Sink::default();
    server.settle(&mut sink);
    assert_eq!(ParsedDhcp6Reply::parse(&sink.0[0].1).status, Some(StatusCode::Success));
    assert_eq!(ParsedDhcp6Reply::parse(&sink.0[1].1).leased(0), address(0x11));
}

#[test]
fn a_failed_store_acknowledges_nothing() {
    let mut server = Server::new(SMALL);
    server.log.fail();
    server.tell(&request(1).na(1, &[]));
    assert_eq!(server.dropped(DropReason::StoreFailed), 1);
}

#[test]
fn a_client_is_in_flight_across_shards() {
    let mut server = Server::with_shards(SMALL, 2);
    server.auto_settle = false;
    let octets = request(1).na(1, &[]).octets();
    for shard in [0, 1, 1] {
        assert!(server.send_to(shard, &octets).is_empty());
    }
    assert_eq!(server.dropped(DropReason::DuplicateInFlight), 1);
    let mut sink = Sink::default();
    server.settle(&mut sink);
    server.settle(&mut sink);
    assert_eq!(sink.0.len(), 2);
    assert!(server.shards.iter().all(|shard| shard.is_idle()));
}

#[test]
fn the_duid_of_declined_leases_is_no_clients() {
    let mut server = Server::new(SMALL);
    let kinds = [MessageType::Solicit, MessageType::Request, MessageType::Rebind];
    for (kind, count) in kinds.into_iter().zip(1..) {
        let message = Dhcp6MessageBuilder::anonymous(kind, 1).option(option::CLIENTID, &[0; 3]);
        let message = if kind == MessageType::Request { message.for_us() } else { message };
        server.tell(&message.na(1, &[]));
        assert_eq!(server.dropped(DropReason::NoIdentity), count);
    }
    assert!(server.log.take_rows().is_empty());
    // A longer DUID identifies a client like any other.
    let message =
        Dhcp6MessageBuilder::anonymous(MessageType::Solicit, 2).option(option::CLIENTID, &[0; 4]);
    assert_eq!(server.ask(&message.na(1, &[])).leased(0), address(0x10));
}
