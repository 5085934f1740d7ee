//! Identifiers of the subjects of a run (servers in their variants, and the limit responder), and
//! values kept for each of them.

use std::ops::{Index, IndexMut};

/// Identifier of a subject (server, variant or limit responder) in its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubjectId(pub(crate) usize);

/// Values of the subjects of a run, one for each, found by the subject's identifier.
#[derive(Debug)]
pub(crate) struct PerSubject<T>(Vec<T>);

impl<T> PerSubject<T> {
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the identifiers of all subjects, in the order of the run's list.
    pub(crate) fn ids(&self) -> impl Iterator<Item = SubjectId> + use<T> {
        (0..self.0.len()).map(SubjectId)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }
}

impl<T> FromIterator<T> for PerSubject<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<T> Index<SubjectId> for PerSubject<T> {
    type Output = T;

    fn index(&self, subject: SubjectId) -> &T {
        &self.0[subject.0]
    }
}

impl<T> IndexMut<SubjectId> for PerSubject<T> {
    fn index_mut(&mut self, subject: SubjectId) -> &mut T {
        &mut self.0[subject.0]
    }
}
