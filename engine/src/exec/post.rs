//! The post between the hosts of one machine: the sender deposits and goes on, only the receiver
//! waits.
//!
//! The post also knows how far everybody is. So one who looks from outside sees that nobody moves
//! any more, and can close it: then all who wait, and all who come later, are sent home.

use super::buffers::Slice;
use crate::index::{Stage, ValueId};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A step in the order of a Program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// The entry of the order.
    pub entry: u32,
    /// The step's place in the list.
    pub step: u32,
}

/// What is on its way: a value, and which of its instances.
pub type Address = (ValueId, usize);

/// The slices of the receiving processors, in their order.
pub type Letter<T> = Vec<Option<Slice<T>>>;

/// What a host waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The value.
    pub value: ValueId,
    /// The stage that sends it.
    pub from: Stage,
}

/// Somebody else cannot go on, so nobody does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

/// The post of so many hosts.
#[derive(Debug)]
pub struct Post<T> {
    state: Mutex<State<T>>,
    /// A letter has come, or the post has closed.
    news: Condvar,
    /// Pieces of work that have been done, by all.
    moves: AtomicU64,
    /// Where each host is.
    places: Vec<AtomicU64>,
}

#[derive(Debug)]
struct State<T> {
    letters: BTreeMap<Address, Letter<T>>,
    waits: Vec<Option<Wait>>,
    is_closed: bool,
}

/// Of a host that has not begun.
const NOWHERE: u64 = u64::MAX;

impl<T> Post<T> {
    /// A post without letters.
    pub fn new(hosts: usize) -> Self {
        let state = State { letters: BTreeMap::new(), waits: vec![None; hosts], is_closed: false };
        Self {
            state: Mutex::new(state),
            news: Condvar::new(),
            moves: AtomicU64::new(0),
            places: (0..hosts).map(|_| AtomicU64::new(NOWHERE)).collect(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A host begins a step of the training from its start.
    pub fn begin(&self, host: usize) {
        self.places[host].store(NOWHERE, Ordering::Relaxed);
    }

    /// A host has come to a step.
    pub fn come(&self, host: usize, at: At) {
        let place = u64::from(at.entry) << 32 | u64::from(at.step);
        self.places[host].store(place, Ordering::Relaxed);
        self.moved();
    }

    /// A piece of work is done.
    pub fn moved(&self) {
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    /// How many pieces of work have been done: while this grows, somebody moves.
    pub fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }

    /// Where a host is, if it has begun.
    pub fn place(&self, host: usize) -> Option<At> {
        let place = self.places.get(host)?.load(Ordering::Relaxed);
        let at = At { entry: (place >> 32) as u32, step: place as u32 };
        (place != NOWHERE).then_some(at)
    }

    /// What a host waits for.
    pub fn wait_of(&self, host: usize) -> Option<Wait> {
        self.state().waits.get(host).copied().flatten()
    }

    /// Whether it is closed.
    pub fn check(&self) -> Result<(), Closed> {
        if self.state().is_closed { Err(Closed) } else { Ok(()) }
    }

    /// Closes it.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.news.notify_all();
    }

    /// Leaves a letter for whoever waits for it, now or later.
    pub fn deposit(&self, address: Address, letter: Letter<T>) {
        self.state().letters.insert(address, letter);
        self.news.notify_all();
    }

    /// The letter that has come, if it has.
    pub fn take(&self, address: Address) -> Option<Letter<T>> {
        self.state().letters.remove(&address)
    }

    /// Waits for a letter.
    pub fn wait(&self, host: usize, wait: Wait, instance: usize) -> Result<Letter<T>, Closed> {
        let mut state = self.state();
        state.waits[host] = Some(wait);
        loop {
            if state.is_closed {
                return Err(Closed);
            }
            if let Some(letter) = state.letters.remove(&(wait.value, instance)) {
                state.waits[host] = None;
                return Ok(letter);
            }
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
