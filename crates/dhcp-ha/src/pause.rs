//! Pauses of the state machine (`state-machine`): in states that the configuration names, the state
//! changes only after an administrator has sent `ha-continue`.

use dhcp_config::HaPause;

use crate::state::HaState;

/// Pauses of a relationship.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pauses {
    /// States in which the server pauses; true for those in which it does so only once.
    states: Vec<(HaState, bool)>,
    /// True from a pause on until `ha-continue`.
    pub(crate) is_paused: bool,
}

impl Pauses {
    /// Creates the pauses that the configuration demands, by the names of the states.
    pub(crate) fn new(configured: &[(String, HaPause)]) -> Self {
        let state = |(name, pause): &(String, HaPause)| {
            Some((HaState::from_name(name)?, *pause == HaPause::Once))
        };
        Self { states: configured.iter().filter_map(state).collect(), is_paused: false }
    }

    /// Records that the server has entered `state`.
    pub(crate) fn enter(&mut self, state: HaState) {
        if self.is_paused {
            return;
        }
        self.is_paused = self.states.iter().any(|(paused, _)| *paused == state);
        self.states.retain(|(paused, is_once)| *paused != state || !is_once);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_once_is_made_once() {
        let configured = [("ready", HaPause::Once), ("syncing", HaPause::Always)];
        let mut pauses = Pauses::new(&configured.map(|(name, pause)| (name.to_owned(), pause)));
        for (state, is_paused) in [
            (HaState::Waiting, false),
            (HaState::Ready, true),
            (HaState::Ready, false),
            (HaState::Syncing, true),
            (HaState::Syncing, true),
        ] {
            pauses.enter(state);
            assert_eq!(core::mem::take(&mut pauses.is_paused), is_paused, "{state}");
        }
    }
}
