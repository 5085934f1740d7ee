//! Random lives of pairs. A failure prints the seed; `GODWIT_HA_SEED=SEED` repeats that world
//! alone, and `GODWIT_HA_WORLDS=N` sets the number of worlds.

use dhcp_config::HaMode;
use dhcp_ha::HaState;

use serde_json::{Value, json};

use crate::world::{BACKUP, PairWorld};

/// Number of worlds of each kind in the test command.
const WORLDS: u64 = 300;
/// Number of steps in which a pair must get to normal operation once nothing disturbs it.
const HEALING_STEPS: u64 = 3_000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Modes of pairs.
const PAIRS: [HaMode; 2] = [HaMode::HotStandby, HaMode::LoadBalancing];

/// Runs `live` with each seed and each of `modes`, and prints the seed with which it panics.
fn in_worlds(name: &str, modes: &[HaMode], live: impl Fn(PairWorld)) {
    let seeds = match number("GODWIT_HA_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("GODWIT_HA_WORLDS").unwrap_or(WORLDS),
    };
    for seed in seeds {
        let guard = PrintSeed { name, seed };
        for mode in modes {
            live(PairWorld::new(seed, *mode));
        }
        core::mem::forget(guard);
    }
}

/// Prints the seed when it is dropped by a panic.
struct PrintSeed<'n> {
    name: &'n str,
    seed: u64,
}

impl Drop for PrintSeed<'_> {
    fn drop(&mut self) {
        let Self { name, seed } = self;
        println!("repeat: GODWIT_HA_SEED={seed} cargo test -p dhcp-ha --test main {name}");
    }
}

fn pass(world: &mut PairWorld, steps: u64) {
    (0..steps).for_each(|_| world.pass());
}

/// Lets the pair heal without disturbance, and checks that it is in normal operation with the same
/// leases at both.
fn heal(world: &mut PairWorld) {
    world.is_cut = false;
    world.loss_percent = 0;
    for server in 0..2 {
        if world.servers[server].relationship.is_none() {
            world.start(server);
        }
    }
    pass(world, HEALING_STEPS);
    world.is_quiet = true;
    pass(world, HEALING_STEPS);
    assert_eq!(world.states(), world.normal_states());
    let [primary, standby, _] = &world.servers;
    if world.mode != HaMode::PassiveBackup {
        assert_eq!(primary.leases, standby.leases);
    }
    assert!(world.acknowledgements > 100);
}

/// Lets the backup server number `backup` copy the leases of the primary server. It has done
/// nothing of its own before.
fn synchronize_backup(world: &mut PairWorld, backup: usize) {
    world.begin(backup, "ha-sync", &json!({ "server-name": "server0" }));
    pass(world, HEALING_STEPS);
    let relationship = world.servers[backup].relationship.as_mut().expect("it runs");
    assert_eq!(relationship.take_answer().expect("it has ended").code, 0);
    assert_eq!(relationship.state(), HaState::Backup);
    assert_eq!(relationship.metrics(base::Now::default()).unsent_updates, 0);
    assert_eq!(world.states(), world.normal_states());
}

/// Checks that all servers have each acknowledged lease for its client.
fn check_acknowledged(world: &PairWorld) {
    for (address, client) in &world.acknowledged {
        for server in world.servers.iter().filter(|server| server.relationship.is_some()) {
            let lease = server.leases.get(address);
            assert_eq!(lease.map(|lease| lease.client), Some(*client), "address {address}");
        }
    }
}

/// Servers crash, the link is whole: no address has two clients, and nothing is lost.
fn a_life_with_crashes(mut world: PairWorld) {
    pass(&mut world, 200);
    for _ in 0..4 {
        let is_normal = world.states() == [Some(HaState::normal(world.mode)); 2];
        let server = world.random.below(2) as usize;
        // A server whose disk is lost must not be the only one with some leases.
        let loses_disk = is_normal && world.random.chance(1, 2);
        if is_normal || world.servers[1 - server].relationship.is_some() {
            world.crash(server, loses_disk);
        }
        let away = world.random.below(400);
        pass(&mut world, away);
        // The other server has all leases only if it was there all the time.
        world.start(server);
        pass(&mut world, HEALING_STEPS);
    }
    heal(&mut world);
    assert!(world.doubles.is_empty(), "addresses of two clients: {:?}", world.doubles);
    synchronize_backup(&mut world, BACKUP);
    check_acknowledged(&world);
}

/// Makes the link part or lose requests, and perhaps one of the servers crash and start again. The
/// chances are those of a cut and of a crash, as counts of cases and of all.
fn disturb(world: &mut PairWorld, [cut, crash]: [(u64, u64); 2]) {
    world.is_cut = world.random.chance(cut.0, cut.1);
    world.loss_percent = [0, 5, 50][world.random.below(3) as usize];
    if world.random.chance(crash.0, crash.1) {
        let server = world.random.below(2) as usize;
        world.crash(server, false);
        let away = world.random.below(300);
        pass(world, away);
        world.start(server);
    }
}

/// The link parts, loses and comes back, and servers crash: the pair becomes normal again and its
/// leases are the same.
fn a_life_with_a_bad_link(mut world: PairWorld) {
    for _ in 0..6 {
        disturb(&mut world, [(1, 3), (1, 4)]);
        let steps = world.random.below(600);
        pass(&mut world, steps);
    }
    heal(&mut world);
    synchronize_backup(&mut world, BACKUP);
    assert_eq!(world.servers[0].leases, world.servers[BACKUP].leases);
}

/// The link delivers updates after the sender has given them up, as a kernel does after a cut: the
/// pair becomes normal again and its leases are the same.
fn a_life_with_late_updates(mut world: PairWorld) {
    world.delivers_late = true;
    for _ in 0..6 {
        disturb(&mut world, [(1, 2), (1, 6)]);
        let steps = world.random.below(600);
        pass(&mut world, steps);
    }
    world.is_cut = false;
    world.loss_percent = 0;
    let healed = (0..HEALING_STEPS).find(|_| {
        world.pass();
        world.states() == world.normal_states()
    });
    assert!(healed.is_some(), "{:?}", world.states());
    // No renewal follows that would repair what a late update has broken.
    world.is_quiet = true;
    pass(&mut world, HEALING_STEPS);
    assert_eq!(world.servers[0].leases, world.servers[1].leases);
}

/// A load balancing pair does not wait for a partner behind a link that parts and loses, and
/// servers crash: the pair becomes normal again and its leases are the same.
fn a_life_with_delayed_updates(mut world: PairWorld) {
    let limit = [1, 5, 1_000][world.random.below(3) as usize];
    world.allow_delayed_updates(limit);
    pass(&mut world, 400);
    for _ in 0..6 {
        disturb(&mut world, [(1, 2), (1, 6)]);
        let steps = world.random.below(600);
        pass(&mut world, steps);
    }
    heal(&mut world);
}

/// A primary server waits for its backup server, each of them crashes, and the link parts and
/// loses: the backup server has each acknowledged lease.
fn a_life_with_a_backup_that_is_waited_for(mut world: PairWorld) {
    for _ in 0..6 {
        disturb(&mut world, [(1, 3), (1, 3)]);
        let before = world.acknowledgements;
        let steps = world.random.below(600);
        let is_reached = !world.is_cut && world.loss_percent < 50;
        pass(&mut world, steps);
        assert!(world.acknowledgements > before || !is_reached || steps < 400);
    }
    heal(&mut world);
    assert!(world.doubles.is_empty(), "addresses of two clients: {:?}", world.doubles);
    check_acknowledged(&world);
    synchronize_backup(&mut world, 1);
    assert_eq!(world.servers[0].leases, world.servers[1].leases);
}

/// An administrator of a backup server that has lost its disk copies the leases of the primary
/// server, and the pair serves clients meanwhile and afterwards.
fn a_life_with_a_backup_that_crashes(mut world: PairWorld) {
    let normal = world.normal_states();
    pass(&mut world, 400);
    for _ in 0..3 {
        world.crash(BACKUP, true);
        let away = world.random.below(400);
        let before = world.acknowledgements;
        pass(&mut world, 400 + away);
        assert!(world.acknowledgements > before, "no client waits for the backup server");
        assert_eq!(world.states(), normal, "the pair does not need the backup server");
        world.start(BACKUP);
        synchronize_backup(&mut world, BACKUP);
    }
    heal(&mut world);
    assert_eq!(world.servers[0].leases, world.servers[BACKUP].leases);
}

/// Clocks step and are corrected: the pair ends its cooperation and takes it up again by itself. No
/// address has two clients.
fn a_life_with_clocks_that_step(mut world: PairWorld) {
    pass(&mut world, 400);
    for _ in 0..3 {
        let server = world.random.below(2) as usize;
        world.servers[server].clock_ahead_s = 61 + world.random.below(3_600);
        world.servers[1 - server].clock_ahead_s = 0;
        let steps = 200 + world.random.below(400);
        pass(&mut world, steps);
        assert_eq!(world.states(), [Some(HaState::Terminated); 2]);
        let other = world.random.below(3) * 15;
        world.servers[server].clock_ahead_s = other;
        pass(&mut world, HEALING_STEPS);
        assert_eq!(world.states(), [Some(HaState::normal(world.mode)); 2]);
    }
    heal(&mut world);
    assert!(world.doubles.is_empty(), "addresses of two clients: {:?}", world.doubles);
}

/// A server crashes, and starts again while its partner serves all clients: the partner goes on
/// while its leases are copied, and an administrator deletes leases there. Both have the same
/// leases then, no address has two clients, and what was deleted is gone. Returns the number of
/// acknowledgements during the copies.
fn a_life_with_copies_of_a_partner_that_serves(mut world: PairWorld) -> u64 {
    let normal = world.normal_states();
    world.servers.iter_mut().for_each(|server| server.changes_max = 1_000);
    pass(&mut world, 400);
    for _ in 0..4 {
        let server = world.random.below(2) as usize;
        let loses_disk = world.random.chance(1, 2);
        world.crash(server, loses_disk);
        let away = 200 + world.random.below(400);
        pass(&mut world, away);
        world.start(server);
        let mut deleted = Vec::new();
        let has_healed = (0..HEALING_STEPS).any(|_| {
            world.pass();
            if world.random.chance(1, 8) {
                deleted.extend(world.delete_during_copy(1 - server));
            }
            world.states() == normal
        });
        assert!(has_healed, "{:?}", world.states());
        // The client may have got the address again.
        deleted.retain(|(address, lease)| world.acknowledged.get(address) != Some(&lease.client));
        for (address, lease) in deleted {
            for one in &world.servers[..2] {
                assert_ne!(one.leases.get(&address), Some(&lease), "address {address}");
            }
        }
    }
    heal(&mut world);
    assert!(world.doubles.is_empty(), "addresses of two clients: {:?}", world.doubles);
    for (address, client) in &world.acknowledged {
        for server in &world.servers[..2] {
            let lease = server.leases.get(address);
            assert_eq!(lease.map(|lease| lease.client), Some(*client), "address {address}");
        }
    }
    world.acknowledged_in_copies
}

/// An administrator begins maintenances of either server, which is then shut down for a time or
/// started again at once, or goes on: the pair becomes normal again and its leases are the same.
fn a_life_with_maintenance(mut world: PairWorld) {
    let normal = HaState::normal(world.mode);
    pass(&mut world, 400);
    for _ in 0..4 {
        let stays = world.random.below(2) as usize;
        world.begin(stays, "ha-maintenance-start", &Value::Null);
        pass(&mut world, 100);
        assert_eq!(world.states()[stays], Some(HaState::PartnerInMaintenance));
        assert_eq!(world.states()[1 - stays], Some(HaState::InMaintenance));
        if world.random.chance(1, 2) {
            world.begin(stays, "ha-maintenance-cancel", &Value::Null);
        } else {
            world.crash(1 - stays, false);
            if world.random.chance(1, 2) {
                pass(&mut world, 300);
                assert_eq!(world.states()[stays], Some(HaState::PartnerDown));
            }
            world.start(1 - stays);
        }
        pass(&mut world, HEALING_STEPS);
        assert_eq!(world.states(), [Some(normal); 2]);
    }
    heal(&mut world);
}

#[test]
fn a_partner_serves_clients_while_its_leases_are_copied() {
    let served = core::cell::Cell::new(0);
    in_worlds("a_partner_serves_clients_while_its_leases_are_copied", &PAIRS, |world| {
        served.set(served.get() + a_life_with_copies_of_a_partner_that_serves(world));
    });
    assert!(served.get() > 0);
}

#[test]
fn a_pair_is_normal_after_maintenance() {
    in_worlds("a_pair_is_normal_after_maintenance", &PAIRS, a_life_with_maintenance);
}

#[test]
fn a_pair_heals_when_the_clocks_agree() {
    in_worlds("a_pair_heals_when_the_clocks_agree", &PAIRS, a_life_with_clocks_that_step);
}

#[test]
fn nothing_is_lost_when_servers_crash() {
    in_worlds("nothing_is_lost_when_servers_crash", &PAIRS, a_life_with_crashes);
}

#[test]
fn late_updates_change_no_later_lease() {
    in_worlds("late_updates_change_no_later_lease", &PAIRS, a_life_with_late_updates);
}

#[test]
fn a_pair_heals_after_a_bad_link() {
    in_worlds("a_pair_heals_after_a_bad_link", &PAIRS, a_life_with_a_bad_link);
}

#[test]
fn a_pair_heals_after_delayed_updates() {
    let modes = [HaMode::LoadBalancing];
    in_worlds("a_pair_heals_after_delayed_updates", &modes, a_life_with_delayed_updates);
}

#[test]
fn a_backup_server_that_is_waited_for_has_all_leases() {
    in_worlds(
        "a_backup_server_that_is_waited_for_has_all_leases",
        &[HaMode::PassiveBackup],
        a_life_with_a_backup_that_is_waited_for,
    );
}

#[test]
fn a_pair_does_not_wait_for_a_backup_server() {
    in_worlds(
        "a_pair_does_not_wait_for_a_backup_server",
        &PAIRS,
        a_life_with_a_backup_that_crashes,
    );
}
