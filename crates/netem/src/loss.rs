//! Choice of lost packets (`loss`): by a random share, or by a Markov chain of states that makes
//! bursts.

use crate::chance::Chance;
use crate::settings::Loss;
use crate::share::UnitShare;

/// State of the chain that decides about lost packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ChainState {
    /// State 1 of `loss state`, and the good state of `loss gemodel`.
    #[default]
    Good,
    /// State 2 of `loss state`: packets arrive within a burst of losses.
    GoodInBurst,
    /// State 3 of `loss state`, and the bad state of `loss gemodel`.
    Bad,
    /// State 4 of `loss state`: a single packet is lost.
    Alone,
}

impl ChainState {
    /// Advances the chain of states by one packet; returns true if the packet is lost.
    pub(crate) fn loses(&mut self, loss: &Loss, chance: &mut Chance) -> bool {
        match *loss {
            Loss::None => false,
            Loss::Random(often) => chance.hits(often),
            Loss::State { p13, p31, p32, p23, p14 } => {
                let drawn = u64::from(chance.draw(UnitShare::NONE));
                *self = match *self {
                    Self::Good if drawn < p14.width() => Self::Alone,
                    Self::Good if drawn < p14.width() + p13.width() => Self::Bad,
                    Self::Good | Self::Alone => Self::Good,
                    Self::GoodInBurst if drawn < p23.width() => Self::Bad,
                    Self::GoodInBurst => Self::GoodInBurst,
                    Self::Bad if drawn < p32.width() => Self::GoodInBurst,
                    Self::Bad if drawn < p32.width() + p31.width() => Self::Good,
                    Self::Bad => Self::Bad,
                };
                matches!(self, Self::Bad | Self::Alone)
            }
            Loss::Gilbert { to_bad, to_good, bad_loss, good_loss } => {
                // The state before the packet judges it; a change of the state affects the next
                // packet.
                let (leaves, loses) = match *self {
                    Self::Bad => (to_good, bad_loss),
                    _ => (to_bad, good_loss),
                };
                let is_bad = *self == Self::Bad;
                if leaves.hits(chance.draw(UnitShare::NONE)) {
                    *self = if is_bad { Self::Good } else { Self::Bad };
                }
                loses.hits(chance.draw(UnitShare::NONE))
            }
        }
    }
}
