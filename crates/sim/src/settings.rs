//! Settings of a DHCP simulation, drawn from its seed so that a thousand seeds are a thousand
//! simulations.

use base::Random;

/// Settings of one DHCP simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DhcpSimulationSettings {
    /// Seed from which all random decisions of the simulation follow.
    pub seed: u64,
    /// Number of the simulated server's shards.
    pub shards: usize,
    /// Number of simulated clients that want addresses.
    pub clients: usize,
    /// Number of addresses in the server's pool, which may be fewer than the clients.
    pub pool_size: u32,
    /// Lifetime of the server's leases, in seconds.
    pub lifetime_s: u32,
    /// Time for which the server keeps an offered address for the client (`hold-time-ms`), in
    /// milliseconds.
    pub hold_ms: u32,
    /// Number of lost datagrams in a thousand, in each direction.
    pub loss_permille: u64,
    /// Number of repeated datagrams in a thousand.
    pub repeat_permille: u64,
    /// Maximum time until a logged lease row becomes durable, in milliseconds.
    pub settle_ms: u64,
    /// Virtual duration of the simulation, in seconds.
    pub duration_s: u64,
    /// Number of configuration reloads in the simulation.
    pub reloads: u32,
    /// True if every second DHCPv4 client sends a client identifier (option 61).
    pub has_client_ids: bool,
    /// Number of clients on the server's own link, in a thousand.
    pub direct_permille: u64,
    /// True if the DHCPv4 server is authoritative (Kea's `authoritative`): it refuses wrong
    /// addresses of clients that it does not know (DHCPNAK).
    pub is_authoritative: bool,
    /// Number of the server's crashes in the simulation.
    pub crashes: u32,
    /// True if DHCPv6 clients may get their lease in two messages (Rapid Commit, option 14; Kea's
    /// `rapid-commit`).
    pub allows_rapid_commit: bool,
    /// True if listeners receive the events of leases.
    pub has_listeners: bool,
    /// Number of times that the server's disk fails, each followed by a crash.
    pub store_failures: u32,
}

impl DhcpSimulationSettings {
    /// Returns the settings of the simulation of `seed`.
    pub fn from_seed(seed: u64) -> Self {
        let mut random = Random::from_seed(seed);
        let pool_size = 1 + random.below(24) as u32;
        // Half the simulations have too few addresses.
        let clients = 2 + random.below(u64::from(pool_size) * 2 + 4) as usize;
        Self {
            seed,
            shards: 2,
            clients,
            pool_size,
            lifetime_s: 20 + random.below(100) as u32,
            hold_ms: 500 + random.below(8_000) as u32,
            loss_permille: [0, 10, 100, 300][random.below(4) as usize],
            repeat_permille: [0, 20, 200][random.below(3) as usize],
            settle_ms: [0, 1, 30, 800][random.below(4) as usize],
            duration_s: 120 + random.below(240),
            reloads: random.below(4) as u32,
            has_client_ids: random.chance(1, 2),
            is_authoritative: random.chance(1, 2),
            direct_permille: [0, 500, 1_000][random.below(3) as usize],
            crashes: random.below(3) as u32,
            allows_rapid_commit: random.chance(1, 2),
            has_listeners: random.chance(4, 5),
            store_failures: u32::from(random.chance(1, 3)),
        }
    }
}
