//! The threads on which hosts walk. A host goes out with an errand and comes home when it is done,
//! so that between steps all slices are at hand, and one that never comes home does not keep the
//! caller waiting for ever.

use super::host::common::Common;
use super::host::{Errand, Host};
use super::number::Number;
use super::pool::Pool;
use super::post::Closed;
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// A host where it is at home; away, there is none.
pub type Home<T, P> = Option<Box<Host<T, P>>>;

/// A thread for each host, by their numbers.
#[derive(Debug)]
pub struct Crew<T, P> {
    common: Arc<Common<T>>,
    ways: Vec<Sender<Sent<T, P>>>,
    back: Sender<Answer<T, P>>,
    answers: Receiver<Answer<T, P>>,
}

/// A host goes out with an errand.
type Sent<T, P> = (Box<Host<T, P>>, Errand);

/// A host is back.
#[derive(Debug)]
struct Answer<T, P> {
    host: Box<Host<T, P>>,
    number: usize,
    outcome: Result<(), Stop>,
}

/// Why a host comes back before its errand is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// Another has stopped.
    Closed,
    /// It has died, with this message.
    Died(String),
}

/// Why an errand is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// A host has died, with this message.
    Died(usize, String),
    /// Nobody has moved for too long.
    Stillness,
}

impl<T: Number, P: Pool> Crew<T, P> {
    /// No threads yet.
    pub fn new(common: Arc<Common<T>>) -> Self {
        let (back, answers) = channel();
        Self { common, ways: Vec::new(), back, answers }
    }

    /// Starts the thread of the next host, whose tasks that pool does.
    pub fn enlist(&mut self, pool: &P, name: String) -> io::Result<()> {
        let (way, errands) = channel();
        let (number, common) = (self.ways.len(), Arc::clone(&self.common));
        let back = self.back.clone();
        self.ways.push(way);
        pool.begin(name, move || serve(number, &common, errands, &back))
    }

    /// Has an errand done by all hosts, and waits until they are home. In trouble the post is
    /// closed, and who is not home yet does not come any more.
    pub fn carry(
        &self,
        hosts: &mut [Home<T, P>],
        errand: &Errand,
        patience: Duration,
    ) -> Result<(), Trouble> {
        for (way, host) in self.ways.iter().zip(&mut *hosts) {
            if let Some(host) = host.take() {
                // A thread lives as long as its way.
                drop(way.send((host, errand.clone())));
            }
        }
        let post = self.common.post();
        let mut moves = post.moves();
        while hosts.iter().any(Option::is_none) {
            match self.answers.recv_timeout(patience) {
                Ok(Answer { host, number, outcome: Ok(()) }) => hosts[number] = Some(host),
                Ok(Answer { number, outcome: Err(Stop::Died(message)), .. }) => {
                    return Err(Trouble::Died(number, message));
                }
                // The one for which it stopped is on its way, too.
                Ok(Answer { outcome: Err(Stop::Closed), .. }) => {}
                Err(RecvTimeoutError::Timeout) if post.moves() != moves => moves = post.moves(),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(Trouble::Stillness);
                }
            }
        }
        Ok(())
    }
}

/// The life of a host's thread: errand after errand, as long as there are some.
fn serve<T: Number, P: Pool>(
    number: usize,
    common: &Common<T>,
    errands: Receiver<Sent<T, P>>,
    back: &Sender<Answer<T, P>>,
) {
    for (mut host, errand) in errands {
        let outcome = guarded(&mut host, errand);
        if outcome.is_err() {
            common.post().close();
        }
        if back.send(Answer { host, number, outcome }).is_err() {
            return;
        }
    }
}

/// Does an errand; a panic in it is an answer, too.
pub fn guarded<T: Number, P: Pool>(host: &mut Host<T, P>, errand: Errand) -> Result<(), Stop> {
    match catch_unwind(AssertUnwindSafe(|| host.walk(errand))) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(Closed)) => Err(Stop::Closed),
        Err(panic) => Err(Stop::Died(message(&*panic))),
    }
}

/// What a panic says.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it did not say why").to_owned()
}
