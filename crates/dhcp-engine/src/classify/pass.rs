//! Evaluation pass over the configured client classes, restricted to the classes that a message can
//! be in.
//!
//! A class whose test requires that a text is one of some constants is only tested if the text is
//! one of them: one look-up of the text finds all classes that require its value.

use super::PacketView;
use super::classes::{Check, Configured};
use super::compile::Compiler;
use super::program::Test;
use super::workspace::{ExpressionEvaluator, Workspace};

/// Client classes that one pass evaluates, as positions among the configured classes.
#[derive(Debug, Default)]
pub(super) struct EvaluationPass {
    /// Set of the classes that every pass tests, one bit each.
    always: Vec<u64>,
    /// Set of the client classes whose test requires nothing but the value of a key: once the value
    /// matches, they need no further test. One bit each.
    decided: Vec<u64>,
    by_key: Vec<ClassesByKey>,
}

/// Client classes that a message can be in only with a certain value of one key.
#[derive(Debug)]
struct ClassesByKey {
    key: u32,
    /// Positions of the classes that each value of the key admits, by the number of the value.
    open: Vec<Vec<u16>>,
}

/// Requirement of a class test: a key (a text of the message that tests compare with constants) has
/// one of these values.
#[derive(Default)]
struct Demand {
    values: Vec<(u32, u32)>,
    /// True if the class test requires nothing but this value of the key.
    is_all: bool,
}

impl EvaluationPass {
    /// Returns the evaluation pass over the configured classes at `positions`.
    pub(super) fn new(
        compiler: &Compiler<'_>,
        classes: &[Configured],
        positions: impl Iterator<Item = usize>,
    ) -> Self {
        let words = classes.len().div_ceil(64);
        let mut pass = Self { always: vec![0; words], decided: vec![0; words], by_key: Vec::new() };
        for position in positions {
            let demand = match &classes[position].check {
                Check::Assigned => continue,
                Check::Test(test) => demand(test, compiler),
                Check::Template(..) => None,
            };
            let Some(demand) = demand else {
                mark(&mut pass.always, position);
                continue;
            };
            if demand.is_all {
                mark(&mut pass.decided, position);
            }
            for (key, value) in demand.values {
                pass.open(key, value, position);
            }
        }
        pass
    }

    fn open(&mut self, key: u32, value: u32, position: usize) {
        let at = self.by_key.iter().position(|classes| classes.key == key).unwrap_or_else(|| {
            self.by_key.push(ClassesByKey { key, open: Vec::new() });
            self.by_key.len() - 1
        });
        let open = &mut self.by_key[at].open;
        let value = value as usize;
        if open.len() <= value {
            open.resize(value + 1, Vec::new());
        }
        open[value].push(u16::try_from(position).expect("classes have indexes of 16 bits"));
    }

    /// Finds the classes that the current message can be in, and marks them as candidates.
    pub(super) fn begin<V: PacketView>(&self, run: &mut ExpressionEvaluator<'_, V>) {
        run.work.candidates.clear();
        run.work.candidates.extend_from_slice(&self.always);
        for classes in &self.by_key {
            let Ok(Some(value)) = run.key(classes.key) else { continue };
            for &position in classes.open.get(value as usize).into_iter().flatten() {
                mark(&mut run.work.candidates, usize::from(position));
            }
        }
    }

    /// Returns the position of the next class to test, from position `from` on.
    pub(super) fn next(&self, from: usize, work: &Workspace) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = work.candidates.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *work.candidates.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Returns true if the candidate class at `position` contains the client of the message without
    /// a test.
    pub(super) fn is_decided(&self, position: usize) -> bool {
        self.decided[position / 64] & (1 << (position % 64)) != 0
    }
}

fn mark(bits: &mut [u64], position: usize) {
    bits[position / 64] |= 1 << (position % 64);
}

/// Returns the values of one key or several that a class test requires; `None` when it requires
/// none. A test that fails is not passed, so within `and` the requirement of any part suffices,
/// whatever comes before it.
fn demand(test: &Test, compiler: &Compiler<'_>) -> Option<Demand> {
    match test {
        Test::Is { key, value } => Some(Demand { values: vec![(*key, *value)], is_all: true }),
        Test::Any { parts, .. } => {
            let mut all = Demand { values: Vec::new(), is_all: !compiler.may_fail(test) };
            for part in parts {
                let part = demand(part, compiler)?;
                all.is_all &= part.is_all;
                all.values.extend(part.values);
            }
            Some(all)
        }
        Test::All { parts, .. } => {
            let part_demand = parts.iter().find_map(|part| demand(part, compiler))?;
            Some(Demand { is_all: false, ..part_demand })
        }
        _ => None,
    }
}
