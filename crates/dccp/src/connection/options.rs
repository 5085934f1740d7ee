//! Options of a valid packet, processed in order (RFC 4340 §8.5 step 8).

use super::receive::IncomingPacket;
use super::{Connection, ConnectionState, Role, Stamp};
use crate::ack_vector::dropped::{self, DropCode};
use crate::ccid::RTT_MIN_NS;
use crate::feature::{Feature, PacketNumbers, number as feature_number};
use crate::header::{PacketType, Reset, ResetCode};
use crate::option::{DccpOption, DccpOptionIterator, RawOption, elapsed_ns, number};

/// Largest number of Init Cookies that a client keeps (RFC 4340 §8.1.4).
const INIT_COOKIES_MAX: usize = 4;

/// Content of a packet's options that later processing steps need.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReceivedOptions {
    pub(super) ndp_count: Option<u64>,
    pub(super) elapsed_ns: u64,
    pub(super) data_checksum: Option<u32>,
    had_features: bool,
}

impl Connection {
    /// Processes the options of a packet (RFC 4340 §8.5 step 8). An error is the Reset that ends
    /// the connection.
    pub(super) fn step_8_options(
        &mut self,
        incoming: &IncomingPacket<'_>,
    ) -> Result<ReceivedOptions, Reset> {
        self.guard_ccids(incoming.now_ns);
        let mut heard = ReceivedOptions::default();
        let mut mandatory = false;
        let about = |code, raw: &RawOption<'_>| Reset::about_option(code, raw.number, raw.value);
        let packet_type = incoming.packet_type();
        for raw in DccpOptionIterator::new(incoming.packet.options) {
            if packet_type == PacketType::Data && raw.option.is_ignored_on_data() {
                continue;
            }
            if raw.option == DccpOption::Mandatory {
                if mandatory {
                    return Err(about(ResetCode::OptionError, &raw));
                }
                mandatory = true;
                continue;
            }
            let is_done = raw.option.is_for(packet_type)
                && self.take_option(incoming, &raw.option, mandatory, &mut heard)?;
            if mandatory && !is_done {
                return Err(about(ResetCode::MandatoryError, &raw));
            }
            mandatory = false;
        }
        if mandatory {
            // No option follows that Mandatory could be about (§5.8.2).
            return Err(Reset::about_option(ResetCode::OptionError, number::MANDATORY, &[]));
        }
        let arrival = arrival(incoming);
        self.features.finish(arrival, heard.had_features, self.gsr, self.gss);
        Ok(heard)
    }

    /// Processes one option of a packet. Returns true if this end understands it.
    fn take_option(
        &mut self,
        incoming: &IncomingPacket<'_>,
        option: &DccpOption<'_>,
        is_mandatory: bool,
        heard: &mut ReceivedOptions,
    ) -> Result<bool, Reset> {
        let now_ns = incoming.now_ns;
        match *option {
            DccpOption::Feature { kind, feature, value } => {
                heard.had_features = true;
                let arrival = arrival(incoming);
                let applied = self.features.receive(arrival, kind, feature, value, is_mandatory)?;
                if let Some(applied) = applied {
                    self.apply(now_ns, applied);
                }
            }
            DccpOption::NdpCount(count) => heard.ndp_count = Some(count),
            DccpOption::Timestamp(value) => {
                self.stamp = Some(Stamp { value, arrived_ns: now_ns });
            }
            DccpOption::TimestampEcho { echo, elapsed_10us } => {
                if let Some((value, sent_ns)) = self.stamp_sent
                    && value == echo
                {
                    let earliest_ns = sent_ns + elapsed_ns(elapsed_10us);
                    self.stamp_sent = None;
                    self.update_rtt(now_ns, now_ns.saturating_sub(earliest_ns).max(RTT_MIN_NS));
                }
            }
            DccpOption::ElapsedTime(elapsed_10us) => heard.elapsed_ns = elapsed_ns(elapsed_10us),
            DccpOption::DataChecksum(crc) => heard.data_checksum = Some(crc),
            DccpOption::InitCookie(cookie) => {
                let is_wanted = self.role == Role::Client
                    && self.state == ConnectionState::Request
                    && self.init_cookies.len() < INIT_COOKIES_MAX;
                if is_wanted {
                    self.init_cookies.push(cookie.to_vec());
                }
                return Ok(is_wanted);
            }
            DccpOption::DataDropped(blocks) => {
                if let Some(acknowledgement) = incoming.acknowledgement {
                    let mut drops = dropped::read(acknowledgement, blocks);
                    if drops.any(|(_, code)| code == DropCode::ApplicationNotListening) {
                        // No application reads data any more at the other end (§11.7.2).
                        self.queue.clear();
                        self.has_remote_stopped_receiving = true;
                    }
                }
            }
            DccpOption::AckVector { .. } => self.has_ack_vectors = true,
            DccpOption::Padding | DccpOption::Mandatory | DccpOption::SlowReceiver => (),
            DccpOption::Unknown { number, value } => return Ok(self.is_of_ccid(number, value)),
        }
        Ok(true)
    }

    /// Returns true if an option of this number and value belongs to the congestion control of this
    /// end's data.
    fn is_of_ccid(&self, number: u8, value: &[u8]) -> bool {
        let is_ccid_3 = self.features.value(Feature::local(feature_number::CCID)) == 3;
        is_ccid_3
            && match number {
                number::LOSS_EVENT_RATE | number::RECEIVE_RATE => value.len() == 4,
                number::LOSS_INTERVALS => value.len() % 9 == 1 && value.len() > 1,
                _ => false,
            }
    }
}

const fn arrival(incoming: &IncomingPacket<'_>) -> PacketNumbers {
    PacketNumbers { sequence: incoming.sequence, acknowledgement: incoming.acknowledgement }
}
