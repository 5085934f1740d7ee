//! Network namespaces for one test.

use std::ops::Deref;
use std::path::Path;
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};

use testbed::namespace;

/// Free letters of namespaces, out of those that the testbed knows and so cleans up after a crash.
static LETTERS: LazyLock<Mutex<Vec<char>>> =
    LazyLock::new(|| Mutex::new(namespace::FURTHER_SIDES.into_iter().chain(['s', 'c']).collect()));
static GIVEN_BACK: Condvar = Condvar::new();

/// Names of `N` empty namespaces. Dropping the value removes them with all their processes.
pub(crate) struct Namespaces<const N: usize>([String; N]);

impl<const N: usize> Namespaces<N> {
    /// Makes the namespaces once other tests of this process have released enough letters. A test
    /// has one such value at a time: with two, tests could wait for each other forever.
    pub(crate) fn make() -> Self {
        let letters = LETTERS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut letters = GIVEN_BACK
            .wait_while(letters, |letters| letters.len() < N)
            .unwrap_or_else(PoisonError::into_inner);
        let own = std::process::id();
        let names = std::array::from_fn(|_| {
            namespace::namespace_name(own, letters.pop().expect("there are as many"))
        });
        drop(letters);
        let namespaces = Self(names);
        for name in &namespaces.0 {
            namespace::create(name).expect("root makes namespaces");
        }
        namespaces
    }
}

impl<const N: usize> Deref for Namespaces<N> {
    type Target = [String; N];

    fn deref(&self) -> &[String; N] {
        &self.0
    }
}

impl<const N: usize> Drop for Namespaces<N> {
    fn drop(&mut self) {
        for name in &self.0 {
            namespace::remove(name).ok();
            // A namespace that could not be removed keeps its letter.
            if !Path::new("/run/netns").join(name).exists() {
                let mut letters = LETTERS.lock().unwrap_or_else(PoisonError::into_inner);
                letters.extend(name.chars().last());
            }
        }
        GIVEN_BACK.notify_all();
    }
}
