//! Rules by which a trial is void, which means it says nothing about its server. The rules are part
//! of the plan, fixed before the first packet, and equal for every server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LoadRecord, SampleDigest};
use crate::plan::plan_section;

base::worded! {
    /// Reason why a trial is void, which means that it says nothing about its server.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum VoidReason {
        /// The generator sent too many messages after their due times in the trial.
        ScheduleMissed = "generator too slow",
        /// The kernel refused to send messages of the generator.
        SendRefused = "sends refused by the kernel",
        /// Answers were dropped at the generator's own socket.
        GeneratorSocketDrops = "answers dropped at the generator's socket",
        /// Packets were dropped at a full processor backlog, which no server could have prevented.
        SoftnetDrops = "packets dropped at a full processor backlog",
        /// The hypervisor took too much of the processors' time during the trial.
        Steal = "too much processor time stolen",
        /// Exchanges were still open when the generator stopped counting.
        NotDrained = "exchanges left open",
        /// The generator failed, or left no record of the trial.
        GeneratorFailed = "generator failed",
        /// The lab could not run the trial: set-up failed, the server did not start.
        SetUpFailed = "set-up failed",
    }
}

impl VoidReason {
    /// Returns true if a repeat of the trial at the same rate is likely to end the same way because
    /// the generator cannot offer more.
    pub const fn is_generator_limit(self) -> bool {
        matches!(self, Self::ScheduleMissed | Self::SendRefused | Self::GeneratorSocketDrops)
    }
}

plan_section! {
    /// Limits of a plan beyond which a trial is void.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct VoidRules in "void." {
        /// Largest share of exchanges whose first message may leave late, in percent.
        late_sends_percent: f64 = 1.0, "1.0", Number(0.0, 100.0),
            "Share of exchanges begun late by the generator above which a trial is void.";
        /// Largest share of messages that the kernel may drop at the generator's socket, in
        /// percent.
        socket_drops_percent: f64 = 0.0, "0.0", Number(0.0, 100.0),
            "Share of messages dropped at the generator's socket above which a trial is void.";
        /// Largest share of messages that may be dropped at a full processor backlog
        /// (`net.core.netdev_max_backlog`), in percent.
        softnet_drops_percent: f64 = 0.0, "0.0", Number(0.0, 100.0),
            "Share of messages dropped at a processor's backlog above which a trial is void.";
        /// Largest share of processor time that the hypervisor may take, in percent.
        steal_percent: f64 = 25.0, "25.0", Number(0.0, 100.0),
            "Share of the processors' time withheld by the hypervisor above which a trial is void.";
    }
}

impl VoidRules {
    /// Returns the reasons for which a finished trial is void, in the order of [`VoidReason::ALL`];
    /// empty when it counts.
    #[must_use]
    pub fn void_reasons(&self, load: &LoadRecord, digest: &SampleDigest) -> Vec<VoidReason> {
        let messages = load.messages.sent.max(load.exchanges.due).max(1) as f64;
        let over = |amount: u64, of: f64, percent: f64| amount as f64 * 100.0 > of * percent;
        let due = load.exchanges.due.max(1) as f64;
        let socket_drops = load.own_socket_drops.max(digest.generator_socket_drops);
        let holds = |reason| match reason {
            VoidReason::ScheduleMissed => {
                over(load.late_sends, due, self.late_sends_percent)
                    || load.exchanges.sent < load.exchanges.due && load.send_refused == 0
            }
            VoidReason::SendRefused => {
                load.exchanges.sent < load.exchanges.due && load.send_refused > 0
            }
            VoidReason::GeneratorSocketDrops => {
                over(socket_drops, messages, self.socket_drops_percent)
            }
            VoidReason::SoftnetDrops => {
                over(digest.softnet_drops, messages, self.softnet_drops_percent)
            }
            VoidReason::Steal => digest.steal_share * 100.0 > self.steal_percent,
            VoidReason::NotDrained => load.exchanges.in_flight_at_end > 0,
            VoidReason::GeneratorFailed => load.exchanges.due == 0,
            VoidReason::SetUpFailed => false,
        };
        VoidReason::ALL.into_iter().filter(|&reason| holds(reason)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ExchangeCounts, MessageCounts};

    fn clean() -> LoadRecord {
        LoadRecord {
            exchanges: ExchangeCounts {
                due: 1_000,
                sent: 1_000,
                on_time: 500,
                lost: 500,
                ..ExchangeCounts::default()
            },
            messages: MessageCounts { sent: 2_000, received: 2_000, ..MessageCounts::default() },
            ..LoadRecord::default()
        }
    }

    #[test]
    fn a_server_that_loses_half_is_not_void() {
        let digest = SampleDigest { server_socket_drops: 500, ..SampleDigest::default() };
        assert_eq!(VoidRules::default().void_reasons(&clean(), &digest), []);
    }

    #[test]
    fn every_rule_fires_alone_and_only_beyond_its_limit() {
        let rules = VoidRules::default();
        let digest = SampleDigest::default();
        let void_reasons =
            |load: &LoadRecord, digest: &SampleDigest| rules.void_reasons(load, digest);
        let mut load = clean();
        load.late_sends = 10;
        assert_eq!(void_reasons(&load, &digest), []);
        load.late_sends = 11;
        assert_eq!(void_reasons(&load, &digest), [VoidReason::ScheduleMissed]);
        let mut unsent = clean();
        unsent.exchanges.sent -= 1;
        assert_eq!(void_reasons(&unsent, &digest), [VoidReason::ScheduleMissed]);
        let mut refused = LoadRecord { send_refused: 1, ..clean() };
        assert_eq!(void_reasons(&refused, &digest), [], "a refused send that was made up for");
        refused.exchanges.sent -= 1;
        assert_eq!(void_reasons(&refused, &digest), [VoidReason::SendRefused]);
        let dropped = LoadRecord { own_socket_drops: 1, ..clean() };
        assert_eq!(void_reasons(&dropped, &digest), [VoidReason::GeneratorSocketDrops]);
        let softnet = SampleDigest { softnet_drops: 1, ..digest };
        assert_eq!(void_reasons(&clean(), &softnet), [VoidReason::SoftnetDrops]);
        let stolen = SampleDigest { steal_share: 0.26, ..digest };
        assert_eq!(void_reasons(&clean(), &stolen), [VoidReason::Steal]);
        let mut open = clean();
        open.exchanges.in_flight_at_end = 1;
        assert_eq!(void_reasons(&open, &digest), [VoidReason::NotDrained]);
        assert_eq!(void_reasons(&LoadRecord::default(), &digest), [VoidReason::GeneratorFailed]);
    }
}
