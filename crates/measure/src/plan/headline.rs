//! Headline figure of a plan, which the plan's report shows first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

base::recorded! {
    /// Figure of the servers that the report of a plan shows first. Names are words of plans.
    #[derive(Default, Serialize, Deserialize, JsonSchema)]
    pub enum Headline {
        /// Highest rate at which a server meets the plan's criterion (the largest share of missed
        /// exchanges), in exchanges per second.
        #[default]
        HighestRate = "highest-rate",
        /// Time from the start of a server to its first answer, in seconds.
        StartUp = "start-up",
        /// Resident memory of a server when it answers for the first time, in bytes.
        StartMemory = "start-memory",
        /// Time until all clients that came at once have a lease, in seconds.
        Avalanche = "avalanche",
        /// Exchanges that a server completed at the highest load offered, over its highest rate.
        Goodput = "goodput",
        /// Latency that 99 % of the exchanges do not exceed at half of the server's highest rate.
        LatencyAtHalf = "latency-at-half",
        /// Exchanges per second in which the generator's processor was busy.
        ExchangesPerGeneratorCpuSecond = "exchanges-per-generator-cpu-second",
        /// Time from the end of a database server to the first lease after its restart, in seconds.
        DatabaseRestart = "database-restart",
        /// Addresses of a used-up pool that clients got as leases.
        PoolUsed = "pool-used",
    }
}

impl Headline {
    /// Returns the headline figure's name for people, as a heading.
    pub const fn words(self) -> &'static str {
        match self {
            Self::HighestRate => "Highest rate",
            Self::StartUp => "Time from the server's start to its first answer",
            Self::StartMemory => "Memory of the server at its first answer",
            Self::Avalanche => "Time until all clients that began at once have a lease",
            Self::Goodput => {
                "Exchanges/s completed on time under the highest load, as share of the highest rate"
            }
            Self::LatencyAtHalf => "p99 latency at half of the highest rate",
            Self::ExchangesPerGeneratorCpuSecond => "Exchanges per CPU-second of the generator",
            Self::DatabaseRestart => {
                "Time from the end of the database to the first lease after its restart"
            }
            Self::PoolUsed => "Leases given, as share of the addresses of the pool that ran out",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_plans() {
        for headline in Headline::ALL {
            assert_eq!(serde_json::to_value(headline).unwrap(), headline.name());
        }
    }
}
