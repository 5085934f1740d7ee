//! What a world is made of, drawn from its seed so that a thousand seeds are a thousand worlds.

use base::Random;

/// The make-up of one world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The seed of everything.
    pub seed: u64,
    /// Shards.
    pub shards: usize,
    /// Clients that want addresses.
    pub clients: usize,
    /// Addresses in the pool, fewer or more than clients.
    pub pool_size: u32,
    /// Seconds that a lease lasts.
    pub lifetime_s: u32,
    /// Milliseconds that an offer holds.
    pub hold_ms: u32,
    /// Lost datagrams in a thousand, each direction.
    pub loss_permille: u64,
    /// Repeated datagrams in a thousand.
    pub repeat_permille: u64,
    /// Longest time until a row settles, milliseconds.
    pub settle_ms: u64,
    /// Virtual seconds to live through.
    pub duration_s: u64,
    /// Configuration reloads on the way.
    pub reloads: u32,
    /// DHCPv4: whether every second client sends a client identifier.
    pub has_client_ids: bool,
    /// Clients on the server's own link, in a thousand.
    pub direct_permille: u64,
    /// DHCPv4: the server answers for the network.
    pub is_authoritative: bool,
    /// Crashes on the way.
    pub crashes: u32,
    /// DHCPv6: whether clients may have their lease in two messages.
    pub allows_rapid_commit: bool,
}

impl Settings {
    /// The world of `seed`.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let mut random = Random::from_seed(seed);
        let pool_size = 1 + random.below(24) as u32;
        // Half the worlds have too few addresses.
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
        }
    }
}
