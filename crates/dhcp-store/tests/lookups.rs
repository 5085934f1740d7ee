//! Tests of lookups without waiting: the requests of several shards are combined, and each shard
//! gets its own answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use base::{Now, Random};
use dhcp_store::database::{DatabaseError, DatabaseFault};
use dhcp_store::hosts::{
    ChangedKeys, Directory, LookupThread, LookupTurnResult, Lookups, ShardLookups,
};

const NOW: Now = Now { mono_ns: 5, wall_us: 7 };

/// Directory with several values for every number that three divides.
#[derive(Default)]
struct Thirds {
    requests: Vec<Vec<u32>>,
    is_failing: bool,
}

fn truth(key: u32) -> Vec<u32> {
    if key.is_multiple_of(3) { vec![key + 1, key] } else { Vec::new() }
}

impl Directory<u32, u32> for Thirds {
    fn find(
        &mut self,
        _now: Now,
        keys: &[u32],
        visit: &mut dyn FnMut(usize, u32),
    ) -> Result<(), DatabaseError> {
        self.requests.push(keys.to_vec());
        for (at, &key) in keys.iter().enumerate() {
            truth(key).into_iter().for_each(|value| visit(at, value));
        }
        let cause = String::new();
        let error =
            DatabaseError { fault: DatabaseFault::ConnectionLost, operation: "look", cause };
        if self.is_failing { Err(error) } else { Ok(()) }
    }
}

#[test]
fn what_several_want_is_asked_once_and_each_gets_its_own() {
    let lookups = Lookups::new(2, |_| {});
    let [mut one, mut two] = [0, 1].map(|shard| ShardLookups::new(Arc::clone(&lookups), shard));
    let mut directory = Thirds::default();
    assert_eq!(lookups.look_up_all(NOW, &mut directory), LookupTurnResult::Idle);
    assert_eq!((one.request(vec![3, 1]), one.request(vec![9]), two.request(vec![1, 9])), (1, 2, 1));
    assert_eq!(one.take_result(), None);
    assert_eq!(lookups.look_up_all(NOW, &mut directory), LookupTurnResult::Answered(3));
    assert_eq!(directory.requests, [[1, 3, 9]]);
    let first = one.take_result().unwrap();
    assert_eq!((first.batch, first.results), (1, Some(vec![(3, vec![4, 3]), (1, vec![])])));
    let second = one.take_result().unwrap();
    assert_eq!((second.batch, second.results), (2, Some(vec![(9, vec![10, 9])])));
    assert_eq!(two.take_result().unwrap().results, Some(vec![(1, vec![]), (9, vec![10, 9])]));
    assert!(one.take_result().is_none() && two.take_result().is_none());
}

#[test]
fn a_failure_is_answered_at_once_and_the_next_question_tries_again() {
    let lookups = Lookups::new(1, |_| {});
    let mut shard_lookups = ShardLookups::new(Arc::clone(&lookups), 0);
    let mut directory = Thirds { is_failing: true, ..Thirds::default() };
    shard_lookups.request(vec![3]);
    assert!(matches!(lookups.look_up_all(NOW, &mut directory), LookupTurnResult::Failed(_)));
    assert_eq!(shard_lookups.take_result().unwrap().results, None);
    assert_eq!(lookups.look_up_all(NOW, &mut directory), LookupTurnResult::Idle);
    directory.is_failing = false;
    assert_eq!(shard_lookups.request(vec![3]), 2);
    assert_eq!(lookups.look_up_all(NOW, &mut directory), LookupTurnResult::Answered(1));
    assert_eq!(shard_lookups.take_result().unwrap().results, Some(vec![(3, vec![4, 3])]));
}

#[test]
fn every_shard_gets_the_changed_keys_once() {
    let lookups = Lookups::<u32, u32>::new(2, |_| {});
    let [mut one, mut two] = [0, 1].map(|shard| ShardLookups::new(Arc::clone(&lookups), shard));
    assert_eq!(one.take_changed(), ChangedKeys::Keys(vec![]));
    lookups.forget(&[3, 9]);
    assert_eq!(one.take_changed(), ChangedKeys::Keys(vec![3, 9]));
    assert_eq!(one.take_changed(), ChangedKeys::Keys(vec![]));
    lookups.forget(&[6]);
    lookups.forget(&[]);
    assert_eq!(one.take_changed(), ChangedKeys::Keys(vec![6]));
    assert_eq!(two.take_changed(), ChangedKeys::Keys(vec![3, 9, 6]));
    // A shard that serves no client keeps a bounded number of keys.
    (0..2000).for_each(|key| lookups.forget(&[key]));
    assert_eq!(two.take_changed(), ChangedKeys::All);
    lookups.forget(&[1]);
    assert_eq!(two.take_changed(), ChangedKeys::Keys(vec![1]));
    assert_eq!(one.take_changed(), ChangedKeys::All);
}

#[test]
fn every_batch_is_answered_once_and_in_order_whatever_the_turns() {
    let mut random = Random::from_seed(31);
    let lookups = Lookups::new(3, |_| {});
    let mut shards_lookups: Vec<_> =
        (0..3).map(|at| ShardLookups::new(Arc::clone(&lookups), at)).collect();
    let mut directory = Thirds::default();
    let mut open: [BTreeMap<u64, Vec<u32>>; 3] = Default::default();
    let mut answered = 0;
    for _ in 0..20_000 {
        let shard = random.below(3) as usize;
        match random.below(4) {
            0 => drop(lookups.look_up_all(NOW, &mut directory)),
            1 => {
                let keys: Vec<u32> =
                    (0..random.below(5)).map(|_| random.below(20) as u32).collect();
                let batch = shards_lookups[shard].request(keys.clone());
                assert_eq!(open[shard].insert(batch, keys), None);
            }
            _ => {
                let Some(answer) = shards_lookups[shard].take_result() else { continue };
                let (batch, keys) = open[shard].pop_first().unwrap();
                assert_eq!(answer.batch, batch);
                let expected: Vec<_> = keys.into_iter().map(|key| (key, truth(key))).collect();
                assert_eq!(answer.results, Some(expected));
                answered += 1;
            }
        }
    }
    assert!(answered > 3000, "{answered}");
}

#[test]
fn the_thread_answers_and_wakes_whoever_asked() {
    let (woken, wakes) = mpsc::channel();
    let lookups = Lookups::new(2, move |shard| woken.send(shard).unwrap());
    let mut shard_lookups = ShardLookups::new(Arc::clone(&lookups), 1);
    let clock = AtomicU64::new(0);
    let clock = move || Now { mono_ns: clock.fetch_add(1, Ordering::Relaxed), wall_us: 0 };
    let directory = Thirds::default();
    let thread = LookupThread::start(lookups, directory, Box::new(clock)).unwrap();
    for batch in 1..=200 {
        assert_eq!(shard_lookups.request(vec![6]), batch);
        assert_eq!(wakes.recv().unwrap(), 1);
        assert_eq!(shard_lookups.take_result().unwrap().results, Some(vec![(6, vec![7, 6])]));
    }
    assert_eq!(thread.take_problem(), None);
}
