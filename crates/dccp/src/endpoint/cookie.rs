//! Init Cookies (RFC 4340 §8.1.4), for a server that keeps no state until its client has answered.
//! The cookie has the relevant parts of the Request, sealed by a keyed hash, so that the server can
//! restore the connection from it, and only once.

use std::collections::BTreeSet;

use super::keyed::SipHashKey;
use crate::sequence::SequenceNumber;

/// Largest Init Cookie, in bytes: the most that one option holds.
const COOKIE_LEN_MAX: usize = 253;
/// Bytes of an Init Cookie in addition to the Request's options: sealing time, both first sequence
/// numbers, seal.
const FIXED_LEN: usize = 4 + 6 + 6 + 8;
/// Lifetime of an Init Cookie, in seconds. A client in PARTOPEN gives up after eight minutes.
const LIFETIME_S: u32 = 480;

/// Content of an Init Cookie: the parts of a Request that its connection needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cookie {
    /// First sequence number of the client (ISR).
    pub(super) isr: SequenceNumber,
    /// First sequence number of the server (ISS).
    pub(super) iss: SequenceNumber,
    /// Options of the client's Request.
    pub(super) options: Vec<u8>,
}

/// Identification of an Init Cookie: the time of its sealing in seconds, and its seal.
pub(super) type Mark = (u32, u64);

/// Set of Init Cookies from which connections were made. If the network repeats a packet after the
/// connection has ended, its cookie would make another connection, which would deliver its data
/// again.
#[derive(Clone, Debug, Default)]
pub(super) struct UsedCookies {
    marks: BTreeSet<Mark>,
    /// Latest sealing time in seconds of the cookies that were dropped from a full set; `None` if
    /// there are none.
    forgotten_s: Option<u32>,
}

impl UsedCookies {
    /// Returns the count of Init Cookies in the set.
    pub(super) fn len(&self) -> usize {
        self.marks.len()
    }

    /// Marks an Init Cookie as spent. Returns false when it was spent before, or may have been. The
    /// set keeps at most `count_max` cookies: it drops the oldest, and then treats all cookies of
    /// the same age or older as spent.
    pub(super) fn spend(&mut self, now_s: u32, mark: Mark, count_max: usize) -> bool {
        let may_be_forgotten = self.forgotten_s.is_some_and(|forgotten_s| mark.0 <= forgotten_s);
        if may_be_forgotten || self.marks.contains(&mark) {
            return false;
        }
        // `open` refuses cookies that are too old, so the set does not need them.
        while let Some(&oldest) = self.marks.first()
            && now_s.wrapping_sub(oldest.0) > LIFETIME_S
        {
            self.marks.remove(&oldest);
        }
        if self.marks.len() >= count_max
            && let Some((oldest_s, _)) = self.marks.pop_first()
        {
            self.forgotten_s = Some(oldest_s);
        }
        self.marks.insert(mark);
        true
    }
}

/// Returns an Init Cookie for the connection `key`: its content with a seal made from `secret`.
/// Returns `None` when the options are too long for one.
pub(super) fn seal(
    secret: &SipHashKey,
    key: &[u8],
    now_s: u32,
    cookie: &Cookie,
) -> Option<Vec<u8>> {
    if cookie.options.len() + FIXED_LEN > COOKIE_LEN_MAX {
        return None;
    }
    let mut octets = Vec::with_capacity(FIXED_LEN + cookie.options.len());
    octets.extend(now_s.to_be_bytes());
    octets.extend(&cookie.isr.value().to_be_bytes()[2..]);
    octets.extend(&cookie.iss.value().to_be_bytes()[2..]);
    octets.extend(&cookie.options);
    let seal = secret.hash(&[key, &octets].concat());
    octets.extend(seal.to_be_bytes());
    Some(octets)
}

/// Checks the seal and the age of an Init Cookie that a client returned, and returns its content.
/// Returns `None` when it was changed, belongs to another connection, or is too old.
pub(super) fn open(
    secret: &SipHashKey,
    key: &[u8],
    now_s: u32,
    octets: &[u8],
) -> Option<(Cookie, Mark)> {
    let (content, seal) = octets.split_last_chunk::<8>()?;
    let seal = u64::from_be_bytes(*seal);
    if secret.hash(&[key, content].concat()) != seal {
        return None;
    }
    let (fixed, options) = content.split_first_chunk::<16>()?;
    let [t0, t1, t2, t3, numbers @ ..] = *fixed;
    let sealed_s = u32::from_be_bytes([t0, t1, t2, t3]);
    if now_s.wrapping_sub(sealed_s) > LIFETIME_S {
        return None;
    }
    let number = |octets: &[u8]| {
        SequenceNumber::new(octets.iter().fold(0, |sum, &octet| sum << 8 | u64::from(octet)))
    };
    let cookie = Cookie {
        isr: number(&numbers[..6]),
        iss: number(&numbers[6..]),
        options: options.to_vec(),
    };
    Some((cookie, (sealed_s, seal)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_comes_back_whole_or_not_at_all() {
        let secret = SipHashKey::new([1, 2]);
        let n = SequenceNumber::new;
        let cookie = Cookie { isr: n(1 << 47), iss: n(77), options: vec![32, 4, 1, 2] };
        let octets = seal(&secret, b"key", 1_000, &cookie).unwrap();
        let (opened, mark) = open(&secret, b"key", 1_480, &octets).unwrap();
        assert_eq!((opened, mark.0), (cookie.clone(), 1_000));
        assert_eq!(open(&secret, b"key", 1_481, &octets), None, "too old");
        assert_eq!(open(&secret, b"yek", 1_000, &octets), None, "another connection's");
        assert_eq!(open(&secret, b"key", 1_000, &octets[1..]), None);
        for bit in 0..octets.len() * 8 {
            let mut changed = octets.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(&secret, b"key", 1_000, &changed), None, "bit {bit}");
        }
        let long = Cookie { options: vec![0; 230], ..cookie };
        assert_eq!(seal(&secret, b"key", 1_000, &long), None);
    }

    #[test]
    fn a_cookie_is_spent_once() {
        let mut spent = UsedCookies::default();
        assert!(spent.spend(10, (10, 1), 2) && spent.spend(10, (10, 2), 2));
        assert!(!spent.spend(11, (10, 1), 2), "spent");
        // A third one has no room: the set drops the oldest, and treats all of its age as spent.
        assert!(spent.spend(12, (11, 3), 2));
        assert!(!spent.spend(12, (10, 1), 2) && !spent.spend(12, (10, 9), 2));
        assert!(!spent.spend(12, (11, 3), 2));
        // A cookie that is too old to be opened needs no room.
        let mut spent = UsedCookies::default();
        assert!(spent.spend(10, (10, 1), 1) && spent.spend(491, (490, 2), 1));
        assert!(spent.spend(491, (489, 3), 2), "nothing was forgotten");
    }
}
